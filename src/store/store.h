// The database of approvals and events: grants, sessions, trusted projects, audit. Several
// processes share one file; each sees a commit of another at once.
//
// Every Error has the kind store_unavailable, the cause and a remedy. No error is final: a later
// call tries again, with the file that the path leads to then. Times are passed in.
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
#include <utility>
#include <vector>

namespace ew::store {

struct Asker;
struct FoundGrants;

class Store {
public:
    // How long calls fail at once after a failed attempt to open the file.
    static constexpr Millis reopen_delay{5000};

    // How often old rows of the audit are deleted.
    static constexpr UnixMs prune_interval = 3600LL * 1000;

    // Creates the file and its directories if they are missing, for this user only. `path` is
    // absolute or ":memory:". Deletes expired data, but only a part of the old audit rows.
    static Result<std::unique_ptr<Store>> open(const std::string& path, UnixMs now,
                                               StoreSettings settings = {});

    // Returns a store that opens its database at the first call that needs it.
    static std::unique_ptr<Store> unopened(std::string path, StoreSettings settings = {});
    ~Store(); // without flush_all(), queued rows are lost
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    // Sessions. A session that was begun or resumed here counts as in use for the lifetime of the
    // store.
    Result<void> begin_session(const std::string& session, const std::string& project, UnixMs now);
    // Returns false if the session is unknown or too old.
    Result<bool> resume_session(const std::string& session, UnixMs now);

    // Returns the narrowest valid grant for this command.
    Result<std::optional<Grant>> find_command(const std::string& key, const std::string& directory,
                                              const std::string& session,
                                              const std::string& project, UnixMs now);
    // Returns the narrowest valid grant for this host and port.
    Result<std::optional<Grant>> find_host(const std::string& key, const std::string& directory,
                                           const std::string& session, const std::string& project,
                                           UnixMs now);
    // Returns the narrowest valid denial of this command, or of this host and port.
    Result<std::optional<Grant>> find_denial(const std::string& key, const std::string& directory,
                                             const std::string& session, const std::string& project,
                                             UnixMs now);
    // Returns all valid prefix grants for this session in this project.
    Result<std::vector<Grant>> prefixes(const std::string& session, const std::string& project,
                                        UnixMs now);

    // Writes a decision and its grant in one transaction, which is on disk when this returns.
    // Writes the queued rows first, so that the audit is in order. Returns the id of the grant, or
    // 0. An equal valid grant is renewed and keeps its id, uses and creation time. On an error
    // nothing was written, and the decision is not queued.
    Result<std::int64_t> record(const AuditRow& decision, const std::optional<Grant>& grant);

    // Queues a row until flush(). Rows that do not fit are counted, and the count is written
    // instead.
    void audit(AuditRow row, TimePoint now);
    void note_use(std::int64_t grant, Moment now);

    // How long flush() waits for another process that is writing.
    static constexpr Millis flush_patience{50};

    // Returns when flush() is due; later after an error. Returns nullopt if nothing is queued.
    std::optional<TimePoint> flush_at() const { return queue_.flush_at(); }

    // Writes the queued rows. If another process is writing, the rows stay queued and are due again
    // later; that is no error.
    Result<void> flush(Moment now);

    // The same, but waits like every other call. For the end, after which no flush() follows.
    Result<void> flush_all(Moment now);

    // Returns the newest grants first.
    Result<std::vector<Grant>> list(const GrantFilter& filter, UnixMs now);

    // Revokes grants at once for every process, and returns their number. Writes one audit row per
    // grant, with the time, session, call and decided_by of `author`.
    Result<std::int64_t> revoke(const RevokeWhat& what, const AuditRow& author);

    Result<void> trust_project(const std::string& directory, UnixMs now);
    Result<bool> distrust_project(const std::string& directory); // false if it was not trusted
    Result<bool> is_project_trusted(const std::string& directory);
    Result<std::vector<std::string>> trusted_projects();

    // audit_tail() returns the last `count` rows, oldest first. audit_after() returns the `count`
    // rows that follow row `after`.
    Result<std::vector<AuditRow>> audit_tail(std::int64_t count);
    Result<std::vector<AuditRow>> audit_after(std::int64_t after, std::int64_t count);

    // Returns what to tell once after the file was removed, emptied or replaced while it was open.
    std::optional<Error> take_loss() { return std::exchange(loss_, std::nullopt); }

    // The number of rows that were skipped because this version does not understand them.
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
    Result<std::optional<Grant>> find(const std::string& key, const Asker& asker);
    std::vector<Grant> counted(FoundGrants found);

    std::string path_;
    StoreSettings settings_;
    std::unique_ptr<Database> database_;
    std::optional<Error> open_failure_; // the failure of the last attempt
    TimePoint next_attempt_ = {};
    std::vector<BegunSession> begun_;
    AuditQueue queue_;
    bool is_clean_ = false; // old data was deleted since the file was opened
    UnixMs next_prune_ = 0;
    std::int64_t skipped_rows_ = 0;
    std::optional<Error> loss_; // not told yet
};

} // namespace ew::store
