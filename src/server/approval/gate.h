// Decides whether a call runs, needs an answer first, or is refused: by the rules, by earlier
// approvals, and by the approval policy.
#pragma once

#include "core/judgement/judgement.h"
#include "os/shells.h"
#include "server/approval/records.h"
#include "server/approval/rule_book.h"
#include "server/approval/warning.h"
#include "server/approval/writable_places.h"
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
        core::Decision decision = core::Decision::forbidden; // includes earlier approvals
        std::string decided_by = {};           // rule, grant, denial, safe list or policy
        std::string rule = {};                 // "FILE:LINE", "grant 12" or "denial 12"
        std::string way_out = {};              // of a remembered denial: how to withdraw it
        std::vector<std::int64_t> grants = {}; // the grants or denial that decided
        std::string key = {};                  // key of an approval for this call
        core::Hardening hardening = core::Hardening::none; // of its environment
    };

    Gate(const Session& session, Records& records, const Warn& warn)
        : session_(session), records_(records), warn_(warn), rules_(session, records, warn) {}

    // `is_confined` says that the sandbox of the session will be available.
    Ruling rule_on(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                   bool is_confined);

    // From now on, nothing in these places is a program to trust: a command of this session can
    // write them.
    void note_writable(const std::vector<std::string>& places) { writable_.add(places); }

    // The rules about hosts for a call with a network by host. A later change of the rules counts
    // for later calls.
    std::vector<core::HostRule> host_rules() { return rules_.host_rules(); }

    // Returns the ruling that a call would get with these settings, in a session whose sandboxes
    // are available. `only_rules` replace all rules and approvals, unless it is null.
    Ruling preview(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                   const SessionSettings& settings, const core::RuleSet* only_rules);

    // Finds an earlier approval with this key that counts for the call, and notes its use. Returns
    // its name, such as "grant 12", or an empty string if there is no approval, or a denial.
    std::string take_approval(const std::string& key, const ExecPlan& plan);

    // Finds a remembered denial with this key that counts for the call, and notes its use. Returns
    // its name and how to withdraw it, or an empty string if there is no denial.
    std::string take_denial(const std::string& key, const ExecPlan& plan);

    // The same for a call that is not a command; its approvals belong to the session. Notes the use
    // only if `uses_it`.
    std::string find_approval(const std::string& key, const std::string& directory, bool uses_it);

    // The user's shell. It is looked up once.
    const os::ShellProgram& login_shell();

private:
    Ruling find_ruling(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                       const core::JudgedCommand& judged, const core::RuleSet* only_rules);
    core::Judgement judge(const ExecPlan& plan, const core::JudgedCommand& judged,
                          const core::RuleSet* only_rules);
    bool was_denied(Ruling& ruling, const ExecPlan& plan);

    const Session& session_;
    Records& records_;
    Warn warn_;
    RuleBook rules_;
    WritablePlaces writable_;
    std::optional<os::ShellProgram> login_shell_;
};

} // namespace ew::server
