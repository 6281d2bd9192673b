#include "store/store.h"

#include "store/files.h"
#include "store/grants.h"
#include "store/migrations.h"
#include "store/projects.h"
#include "store/sessions.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace ew::store {

namespace {

constexpr UnixMs a_day = 24LL * 3600 * 1000;

Result<std::unique_ptr<Database>> open_database(const std::string& path, Millis patience) {
    UniqueFd lock;
    if (path != ":memory:") lock = TRY(prepare_file(path, patience));
    std::unique_ptr<Database> database = TRY(Database::open(path, patience));
    TRY(check_identity(*database));
    TRY(database->use_write_ahead_log());
    TRY(migrate(*database));
    database->be_patient();
    return database;
}

} // namespace

Store::Store(std::string path, StoreSettings settings)
    : path_(std::move(path)), settings_(settings), queue_(settings.audit_delay) {}

Store::~Store() = default;

std::unique_ptr<Store> Store::unopened(std::string path, StoreSettings settings) {
    return std::unique_ptr<Store>(new Store(std::move(path), settings));
}

Result<std::unique_ptr<Store>> Store::open(const std::string& path, UnixMs now,
                                           StoreSettings settings) {
    std::unique_ptr<Store> store = unopened(path, settings);
    (void)TRY(store->database());
    (void)store->clean_up(now); // old rows have no effect even if this fails
    return store;
}

Result<Database*> Store::database() {
    if (database_ && !database_->was_replaced()) return database_.get();
    if (database_)
        loss_ =
            Error{ErrorKind::store_unavailable,
                  fmt::format("the database {} was lost: it was removed, emptied or replaced while "
                              "it was in use, and what it remembered counts no more",
                              path_),
                  "put the file back, or approve anew"};
    database_.reset();
    if (open_failure_ && clock_now() < next_attempt_) return *open_failure_;
    // After a failure, waits only briefly, because the caller has other clients to serve.
    const Millis patience = open_failure_ ? Database::hasty_patience : Database::patience;
    Result<std::unique_ptr<Database>> opened = open_database(path_, patience);
    if (!opened) {
        open_failure_ = opened.error();
        next_attempt_ = clock_now() + reopen_delay;
        return opened.error();
    }
    open_failure_.reset();
    database_ = std::move(*opened);
    is_clean_ = false;
    return database_.get();
}

Result<void> Store::clean_up(UnixMs now) {
    Database& database = *TRY(this->database());
    if (std::exchange(is_clean_, true)) return {};
    Transaction transaction = TRY(Transaction::begin(database, Durability::normal));
    TRY(delete_old_sessions(database, now - settings_.session_keep_days * a_day));
    TRY(delete_expired_grants(database, now));
    TRY(prune(database, now));
    return transaction.commit();
}

Result<void> Store::prune(Database& database, UnixMs now) {
    if (settings_.audit_keep_days <= 0 || now < next_prune_) return {};
    const bool may_be_more = TRY(prune_audit(database, now - settings_.audit_keep_days * a_day));
    next_prune_ = may_be_more ? now : now + prune_interval;
    return {};
}

const Store::BegunSession* Store::begun(std::string_view session) const {
    const auto known = std::ranges::find(begun_, session, &BegunSession::id);
    return known == begun_.end() ? nullptr : &*known;
}

void Store::remember(const std::string& session, const std::string& project) {
    if (begun(session) == nullptr) begun_.push_back(BegunSession{session, project});
}

Result<void> Store::begin_session(const std::string& session, const std::string& project,
                                  UnixMs now) {
    remember(session, project); // even if the write fails now: it is repeated with the next rows
    Database& database = *TRY(this->database());
    std::optional<Transaction> transaction =
        TRY(Transaction::try_begin(database, Durability::normal, flush_patience));
    if (!transaction) return {};
    TRY(touch_session(database, session, project, now));
    TRY(transaction->commit());
    return clean_up(now);
}

Result<bool> Store::resume_session(const std::string& session, UnixMs now) {
    Database& database = *TRY(this->database());
    const UnixMs oldest = now - settings_.session_keep_days * a_day;
    Transaction transaction = TRY(Transaction::begin(database, Durability::normal));
    const std::optional<std::string> project = TRY(find_session(database, session, oldest));
    if (!project) return false;
    TRY(touch_session(database, session, *project, now));
    TRY(transaction.commit());
    remember(session, *project);
    return true;
}

std::vector<Grant> Store::counted(FoundGrants found) {
    skipped_rows_ += found.skipped;
    return std::move(found.grants);
}

Result<std::optional<Grant>> Store::find(const std::string& key, const Asker& asker) {
    Database& database = *TRY(this->database());
    std::vector<Grant> grants = counted(TRY(grants_for_command(database, key, asker)));
    if (grants.empty()) return std::optional<Grant>();
    return std::optional<Grant>(std::move(grants.front()));
}

Result<std::optional<Grant>> Store::find_command(const std::string& key,
                                                 const std::string& directory,
                                                 const std::string& session,
                                                 const std::string& project, UnixMs now) {
    return find(key, {directory, session, project, now, GrantKind::command});
}

Result<std::optional<Grant>> Store::find_host(const std::string& key, const std::string& directory,
                                              const std::string& session,
                                              const std::string& project, UnixMs now) {
    return find(key, {directory, session, project, now, GrantKind::host});
}

Result<std::optional<Grant>> Store::find_denial(const std::string& key,
                                                const std::string& directory,
                                                const std::string& session,
                                                const std::string& project, UnixMs now) {
    return find(key, {directory, session, project, now, GrantKind::denial});
}

Result<std::vector<Grant>> Store::prefixes(const std::string& session, const std::string& project,
                                           UnixMs now) {
    Database& database = *TRY(this->database());
    return counted(TRY(prefix_grants(database, Asker{{}, session, project, now})));
}

Result<std::int64_t> Store::write_grant(Database& database, Grant grant, UnixMs now) {
    // Deletes expired grants first, so that an equal one counts as new.
    TRY(delete_expired_grants(database, now));
    if (grant.created_at == 0) grant.created_at = now;
    if (!ends_with_session(grant.scope)) return put_grant(database, grant);
    if (grant.session.empty())
        return Error{ErrorKind::internal, "a grant for a session names no session"};
    const BegunSession* const session = begun(grant.session);
    const std::string& project = session != nullptr ? session->project : grant.project;
    TRY(touch_session(database, grant.session, project, now));
    return put_grant(database, grant);
}

Result<std::int64_t> Store::record(const AuditRow& decision, const std::optional<Grant>& grant) {
    Database& database = *TRY(this->database());
    Transaction transaction = TRY(Transaction::begin(database, Durability::full));
    TRY(queue_.write(database, decision.at));
    AuditRow row = decision;
    std::int64_t id = 0;
    if (grant) id = TRY(write_grant(database, *grant, decision.at));
    if (id != 0 && row.rule.empty()) row.rule = name_of(grant->kind, id);
    TRY(write_audit(database, row));
    TRY(transaction.commit());
    queue_.forget();
    constexpr int far_too_many = 4 * Database::checkpoint_pages; // without a flush() for long
    if (database.pages_in_log() >= far_too_many) database.checkpoint();
    return id;
}

void Store::audit(AuditRow row, TimePoint now) {
    queue_.add(std::move(row), now);
}

void Store::note_use(std::int64_t grant, Moment now) {
    queue_.note_use(grant, now);
}

Result<void> Store::flush(Moment now) {
    if (queue_.is_empty()) return {};
    queue_.postpone(now.steady); // unless it is written now
    const bool is_written = TRY(write_queue(now.wall, flush_patience));
    if (is_written) queue_.forget();
    return {};
}

Result<void> Store::flush_all(Moment now) {
    if (queue_.is_empty()) return {};
    queue_.postpone(now.steady);
    const bool is_written = TRY(write_queue(now.wall, Database::patience));
    if (!is_written) return database_->locked();
    queue_.forget();
    return {};
}

// Returns false if another process is writing.
Result<bool> Store::write_queue(UnixMs now, Millis patience) {
    Database& database = *TRY(this->database());
    std::optional<Transaction> transaction =
        TRY(Transaction::try_begin(database, Durability::normal, patience));
    if (!transaction) return false;
    TRY(queue_.write(database, now));
    for (const BegunSession& session : begun_)
        TRY(touch_session(database, session.id, session.project, now));
    TRY(prune(database, now));
    TRY(transaction->commit());
    if (database.wants_checkpoint()) database.checkpoint();
    return true;
}

Result<std::vector<Grant>> Store::list(const GrantFilter& filter, UnixMs now) {
    Database& database = *TRY(this->database());
    return counted(TRY(list_grants(database, filter, now)));
}

Result<std::int64_t> Store::revoke(const RevokeWhat& what, const AuditRow& author) {
    Database& database = *TRY(this->database());
    Transaction transaction = TRY(Transaction::begin(database, Durability::full));
    const FoundGrants gone = TRY(take_grants(database, what, author.at));
    for (const Grant& grant : gone.grants) {
        AuditRow row = author;
        row.event = "revocation";
        row.rule = name_of(grant.kind, grant.id);
        row.directory = grant.directory;
        row.detail = grant.command;
        TRY(write_audit(database, row));
    }
    TRY(transaction.commit());
    return static_cast<std::int64_t>(gone.grants.size()) + gone.skipped;
}

Result<void> Store::trust_project(const std::string& directory, UnixMs now) {
    Database& database = *TRY(this->database());
    Transaction transaction = TRY(Transaction::begin(database, Durability::full));
    TRY(trust(database, directory, now));
    return transaction.commit();
}

Result<bool> Store::distrust_project(const std::string& directory) {
    Database& database = *TRY(this->database());
    Transaction transaction = TRY(Transaction::begin(database, Durability::full));
    const bool was_trusted = TRY(distrust(database, directory));
    TRY(transaction.commit());
    return was_trusted;
}

Result<bool> Store::is_project_trusted(const std::string& directory) {
    return is_trusted(*TRY(database()), directory);
}

Result<std::vector<std::string>> Store::trusted_projects() {
    return trusted(*TRY(database()));
}

Result<std::vector<AuditRow>> Store::audit_tail(std::int64_t count) {
    return store::audit_tail(*TRY(database()), count);
}

Result<std::vector<AuditRow>> Store::audit_after(std::int64_t after, std::int64_t count) {
    return store::audit_after(*TRY(database()), after, count);
}

} // namespace ew::store
