// The part of the database that belongs to a session: its audit, its approvals, and their uses.
// Without a database, no approval is remembered and no remembered approval counts; the user is
// warned once.
#pragma once

#include "base/clock.h"
#include "config/rule_files.h"
#include "protocol/approval.h"
#include "protocol/stored_approvals.h"
#include "server/approval/approval_book.h"
#include "server/approval/questions.h"
#include "server/approval/warning.h"
#include "server/session/session.h"
#include "store/store.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::server {

class Records {
public:
    // `now`: of the turn; the worker owns it.
    Records(const Session& session, Warn warn, const TimePoint& now);

    // Makes the session known to the database, so that it can be resumed.
    void begin_session();

    // Adds a row to the audit. A batch writes it later. This fills in its time and session.
    void audit(store::AuditRow row);

    // Stores an answer before its program starts. Returns the id of what is remembered, or 0. Warns
    // if that fails.
    std::int64_t keep(const Question& question, const protocol::ApprovalAnswer& answer);

    // Returns the approval for this key that counts now. Returns nullopt if there is none.
    // Approvals of a project do not count if `project` is empty.
    std::optional<std::int64_t> find_grant(const std::string& key, const std::string& directory,
                                           const std::string& project);
    // The same for a host and port.
    std::optional<std::int64_t> find_host(const std::string& key, const std::string& directory,
                                          const std::string& project);
    // Returns the remembered denial of this key that counts now.
    std::optional<store::Grant> find_denial(const std::string& key, const std::string& directory,
                                            const std::string& project);
    void note_use(std::int64_t grant);

    // Returns the rules from approvals of a prefix that count in this project. Notes the ids of
    // grants in the rules of `loaded` that they stand for.
    std::vector<core::PrefixRule> granted_rules(const std::string& project,
                                                config::LoadedRules& loaded);

    // Returns true also if the database does not know: the rules of a project can only tighten.
    bool trusts_project();

    // For the requests approvals/*. Errors: those of ApprovalBook.
    Result<std::vector<protocol::ApprovalInfo>> list();
    Result<std::uint64_t> revoke(const protocol::ApprovalsRevokeParams& what);
    Result<std::int64_t> grant(const store::Grant& grant, store::AuditRow author);

    void on_time();
    std::optional<TimePoint> next_deadline() const;
    // At the end: writes all queued rows, even if that waits for another process.
    void flush_all();

private:
    ApprovalBook book() { return {*store_, session_.setup().paths.rules_directory}; }

    store::Moment moment() const { return {store::Moment::now().wall, now_}; }

    store::AuditRow stamped(store::AuditRow row) const;
    void warn_of_store(const Error& error);

    const Session& session_;
    Warn warn_;
    const TimePoint& now_;
    std::unique_ptr<store::Store> store_; // opens its file when needed, and retries after an error
    bool has_warned_of_store_ = false;
    bool is_session_begun_ = false;
};

} // namespace ew::server
