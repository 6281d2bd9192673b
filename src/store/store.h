// The database of what was approved and what happened: grants, sessions, trusted projects, audit.
// Several processes use one file; each sees what another has committed at once.
//
// Every Error has the kind store_unavailable, the cause and the way out. None of them is final: a
// later call tries again, with the file that the path leads to then. Times are passed in.
#pragma once

#include "base/result.h"
#include "store/audit.h"
#include "store/database.h"
#include "store/types.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::store {

struct FoundGrants;

class Store {
public:
    // After an attempt to open the file that failed, calls fail at once for so long.
    static constexpr Millis reopen_delay{5000};

    // Rows of the audit are looked through for old ones so often.
    static constexpr UnixMs prune_interval = 3600LL * 1000;

    // Makes the file and its directories if they are missing, for this user only. `path` is
    // absolute or ":memory:". Deletes what nobody may use any more: old audit rows in part.
    static Result<std::unique_ptr<Store>> open(const std::string& path, UnixMs now,
                                               StoreSettings settings = {});

    // A store whose database is opened by the first call that needs it.
    static std::unique_ptr<Store> unopened(std::string path, StoreSettings settings = {});
    ~Store(); // what is queued is lost without flush_all()
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    // Sessions. One that was begun or resumed here counts as used while this store is.
    Result<void> begin_session(const std::string& session, const std::string& project, UnixMs now);
    Result<bool> resume_session(const std::string& session, UnixMs now); // false: unknown, too old

    // The narrowest grant for this command that counts now.
    Result<std::optional<Grant>> find_command(const std::string& key, const std::string& directory,
                                              const std::string& session,
                                              const std::string& project, UnixMs now);
    // All prefix grants that count now for this session in this project.
    Result<std::vector<Grant>> prefixes(const std::string& session, const std::string& project,
                                        UnixMs now);

    // Writes a decision, and the grant that came with it, in one transaction that is on the disk
    // when this returns. What was queued goes first, so that the audit is in order. Returns the id
    // of the grant, or 0; an equal grant that still counts is renewed and keeps its id, uses and
    // creation. Error: nothing of it was written, and the decision is not queued.
    Result<std::int64_t> record(const AuditRow& decision, const std::optional<Grant>& grant);

    // Queued until flush(); what does not fit is counted, and the count is written instead.
    void audit(AuditRow row, TimePoint now);
    void note_use(std::int64_t grant, Moment now);

    // flush() waits this long for another process that is writing.
    static constexpr Millis flush_patience{50};

    // When flush() is due; absent: nothing is queued. After an error it is due again later.
    std::optional<TimePoint> flush_at() const { return queue_.flush_at(); }

    // Writes what is queued. While another process is writing it is not waited for: what is queued
    // stays so, and is due again later. That is no error.
    Result<void> flush(Moment now);

    // The same, waiting as every other call does: for the end, after which nothing is due.
    Result<void> flush_all(Moment now);

    // Newest first.
    Result<std::vector<Grant>> list(const GrantFilter& filter, UnixMs now);

    // How many are gone, at once and for every process. For each, an audit row like `author` (its
    // time, session, call and decided_by) tells which.
    Result<std::int64_t> revoke(const RevokeWhat& what, const AuditRow& author);

    Result<void> trust_project(const std::string& directory, UnixMs now);
    Result<bool> distrust_project(const std::string& directory); // false: it was not trusted
    Result<bool> is_project_trusted(const std::string& directory);
    Result<std::vector<std::string>> trusted_projects();

    // The last `count` rows, oldest first; or the `count` rows that follow row `after`.
    Result<std::vector<AuditRow>> audit_tail(std::int64_t count);
    Result<std::vector<AuditRow>> audit_after(std::int64_t after, std::int64_t count);

    // Rows with a content that this version does not understand; they were passed over.
    std::int64_t skipped_rows() const { return skipped_rows_; }

private:
    struct BegunSession {
        std::string id;
        std::string project;
    };

    Store(std::string path, StoreSettings settings);

    Result<Database*> database();
    Result<void> clean_up(UnixMs now);
    Result<void> prune(Database& database, UnixMs now);
    Result<bool> write_queue(UnixMs now, Millis patience);
    Result<std::int64_t> write_grant(Database& database, Grant grant, UnixMs now);
    const BegunSession* begun(std::string_view session) const;
    void remember(const std::string& session, const std::string& project);
    std::vector<Grant> counted(FoundGrants found);

    std::string path_;
    StoreSettings settings_;
    std::unique_ptr<Database> database_;
    std::optional<Error> open_failure_; // of the last attempt, until the next
    TimePoint next_attempt_ = {};
    std::vector<BegunSession> begun_;
    AuditQueue queue_;
    bool is_clean_ = false; // what is too old was deleted since the file was opened
    UnixMs next_prune_ = 0;
    std::int64_t skipped_rows_ = 0;
};

} // namespace ew::store
