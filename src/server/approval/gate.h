// Decides whether a call may run, must be asked about, or is refused: by the rules, by what was
// approved before, and by the policy. Keeps what is decided. Without a database nothing is
// remembered and nothing that was remembered counts: it asks.
#pragma once

#include "base/clock.h"
#include "config/paths.h"
#include "config/rule_files.h"
#include "config/rule_watch.h"
#include "core/judgement/judgement.h"
#include "server/approval/approval_book.h"
#include "server/approval/questions.h"
#include "server/connection/reply.h"
#include "server/request/exec_request.h"
#include "server/session/session.h"
#include "store/store.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

    Gate(const Session& session, Outbox& outbox);

    // `is_confined`: the sandbox that the session asks for will be there.
    Ruling rule_on(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                   bool is_confined);

    // What was approved before under this key and counts for the call: "grant 12". Its use is
    // noted. Empty: nothing.
    std::string take_approval(const std::string& key, const ExecPlan& plan);

    // The same for a call that is no command, of the session alone.
    std::string find_approval(const std::string& key, const std::string& directory, bool uses_it);

    // Keeps an approval before its program starts, if that is possible: the warning that it was not
    // goes to the client. `argv` and the like come from the question.
    void keep(const Question& question, const protocol::ApprovalAnswer& answer);

    // What may be answered to a question about this call.
    std::vector<protocol::ApprovalChoice> choices(const ExecPlan& plan, const Ruling& ruling,
                                                  protocol::ApprovalKind kind) const;

    // And about running it again, with what would let through what was refused.
    std::vector<protocol::ApprovalChoice>
    retry_choices(const ExecPlan& plan, const std::optional<sandbox::Additions>& widening) const;

    // The workspace root that a directory is in; empty: in none.
    std::string root_of(const ExecPlan& plan) const;

    // A row of the audit, written later in a batch. Its time and session are filled in.
    void audit(store::AuditRow row);

    void list(Reply reply);
    void handle(Reply reply, const protocol::ApprovalsRevokeParams& params);
    void handle(Reply reply, const protocol::ApprovalsGrantParams& params);
    void handle(Reply reply, const protocol::PolicyExplainParams& params);

    // Makes the session known to the database, so that it can be resumed.
    void begin_session();

    void set_now(TimePoint now) { now_ = now; }

    void on_time();
    std::optional<TimePoint> next_deadline() const;
    // At the end: writes what is queued, also if somebody else has to be waited for.
    void flush_all();

    const os::ShellProgram& login_shell();

private:
    void flush();

    ApprovalBook book() { return {*store_, session_.setup().paths.rules_directory}; }

    void warn_of_store(const Error& error);
    void warn(const Error& error);
    void refresh_rules();
    Ruling find_ruling(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                       const SessionSettings& settings, bool is_confined,
                       const core::RuleSet* only_rules);
    core::Judgement judge(const ExecPlan& plan, const core::JudgedCommand& question,
                          const core::RuleSet* only_rules);
    std::optional<std::int64_t> find_grant(const std::string& key, const std::string& directory,
                                           const std::string& project);
    std::string named(std::int64_t grant, bool uses_it);
    std::string project_for(const ExecPlan& plan) const;
    void note_uses(const Ruling& ruling);
    store::AuditRow row(std::string_view event) const;
    store::Grant grant_for(const Question& question, const protocol::ApprovalAnswer& answer) const;

    const Session& session_;
    Outbox& outbox_;
    TimePoint now_ = clock_now();
    std::unique_ptr<store::Store> store_; // opens its file when it is needed, and again
    bool has_warned_of_store_ = false;
    bool is_session_begun_ = false;
    std::optional<config::LoadedRules> rules_;
    std::optional<config::RuleWatch> watch_; // absent: they are loaded for each call
    bool has_linked_rules_ = false;          // whose changes cannot be seen: loaded for each call
    bool is_project_trusted_ = false;
    std::optional<os::ShellProgram> login_shell_;
};

} // namespace ew::server
