// Decides whether a call may run, must be asked about, or is refused: by the rules, by what was
// approved before, and by the policy.
#pragma once

#include "core/judgement/judgement.h"
#include "os/shells.h"
#include "server/approval/records.h"
#include "server/approval/rule_book.h"
#include "server/connection/outbox.h"
#include "server/request/exec_request.h"
#include "server/session/session.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class Gate {
public:
    struct Ruling {
        core::Judgement judgement = {};
        core::Decision decision = core::Decision::forbidden; // with what was approved before
        std::string decided_by = {};                         // rule, grant, safe list or policy
        std::string rule = {};                               // "FILE:LINE" or "grant 12"
        std::vector<std::int64_t> grants = {};               // that allowed it
        std::string key = {};                                // of an approval for this call
        bool is_harmless = false; // it runs unasked only because it is known to be harmless
    };

    Gate(const Session& session, Records& records, Outbox& outbox)
        : session_(session), records_(records), outbox_(outbox), rules_(session, records, outbox) {}

    // `is_confined`: the sandbox that the session asks for will be there.
    Ruling rule_on(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                   bool is_confined);

    // The ruling that a call would get with these settings, in a session whose sandboxes are there.
    // `only_rules`: these count in place of all rules and approvals; null: those count.
    Ruling preview(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                   const SessionSettings& settings, const core::RuleSet* only_rules);

    // What was approved before under this key and counts for the call: "grant 12". Its use is
    // noted. Empty: nothing.
    std::string take_approval(const std::string& key, const ExecPlan& plan);

    // The same for a call that is no command, of the session alone.
    std::string find_approval(const std::string& key, const std::string& directory, bool uses_it);

    // The user's. Looked up once.
    const os::ShellProgram& login_shell();

private:
    Ruling find_ruling(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                       const core::JudgedCommand& judged, const core::RuleSet* only_rules);
    core::Judgement judge(const ExecPlan& plan, const core::JudgedCommand& judged,
                          const core::RuleSet* only_rules);

    const Session& session_;
    Records& records_;
    Outbox& outbox_;
    RuleBook rules_;
    std::optional<os::ShellProgram> login_shell_;
};

} // namespace ew::server
