#include "store/database.h"

#include "store/unavailable.h"

#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace ew::store {

namespace {

constexpr std::string_view in_memory = ":memory:";
constexpr off_t smallest_size = 512; // of a database file: one page

// Settings of every connection. A schema that was tampered with can only call functions without
// side effects. Deleted content is overwritten.
constexpr const char* settings = "pragma foreign_keys = on;"
                                 "pragma trusted_schema = off;"
                                 "pragma cell_size_check = on;"
                                 "pragma secure_delete = on;"
                                 "pragma journal_size_limit = 4194304;" // bytes
                                 "pragma synchronous = full;";

// The lower byte is the primary result code (https://www.sqlite.org/rescode.html).
int primary(int code) {
    return code & 0xff;
}

bool is_disk_full(int code, sqlite3* connection) {
    if (primary(code) == SQLITE_FULL) return true;
    const int os_error = connection != nullptr ? sqlite3_system_errno(connection) : 0;
    return primary(code) == SQLITE_IOERR && (os_error == ENOSPC || os_error == EDQUOT);
}

std::string_view way_out(int code, sqlite3* connection) {
    if (is_disk_full(code, connection)) return "make room on the disk";
    switch (primary(code)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: return "another process is using it; try again";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
        return "make the file and its directory writable for you, or name another file with "
               "--database";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return "move the file away and a new one is made; what was approved is asked again";
    default: return "see whether the disk is well, or name another file with --database";
    }
}

std::string cause_of(int code, sqlite3* connection) {
    if (is_disk_full(code, connection)) return "the disk is full";
    switch (primary(code)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: return fmt::format("another process has it locked");
    case SQLITE_READONLY: return "it is read-only";
    case SQLITE_CORRUPT: return "it is damaged";
    case SQLITE_NOTADB: return "it is not a database";
    default: break;
    }
    const int os_error = connection != nullptr ? sqlite3_system_errno(connection) : 0;
    const char* const said = connection != nullptr ? sqlite3_errmsg(connection) : nullptr;
    const std::string_view cause = said != nullptr ? said : sqlite3_errstr(code);
    if (os_error == 0) return std::string(cause);
    return fmt::format("{} ({})", cause, os_error_text(os_error));
}

} // namespace

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      handle_(std::exchange(other.handle_, nullptr)),
      parameter_(other.parameter_),
      failure_(other.failure_) {}

Statement::~Statement() {
    if (handle_ != nullptr) database_->take_back(handle_);
}

Statement& Statement::bind(std::string_view text) {
    // A null pointer would bind SQL null.
    const char* const data = text.data() != nullptr ? text.data() : "";
    const int code = sqlite3_bind_text64(handle_, ++parameter_, data, text.size(), SQLITE_TRANSIENT,
                                         SQLITE_UTF8);
    if (failure_ == SQLITE_OK) failure_ = code;
    return *this;
}

Statement& Statement::bind(std::int64_t number) {
    const int code = sqlite3_bind_int64(handle_, ++parameter_, number);
    if (failure_ == SQLITE_OK) failure_ = code;
    return *this;
}

Statement& Statement::bind(std::optional<std::int64_t> number) {
    return number ? bind(*number) : bind_null();
}

Statement& Statement::bind_null() {
    const int code = sqlite3_bind_null(handle_, ++parameter_);
    if (failure_ == SQLITE_OK) failure_ = code;
    return *this;
}

Result<bool> Statement::step() {
    const int code = failure_ != SQLITE_OK ? failure_ : sqlite3_step(handle_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return database_->error(code);
}

Result<void> Statement::run() {
    while (TRY(step())) {}
    return {};
}

std::string Statement::text(int column) const {
    const unsigned char* const bytes = sqlite3_column_text(handle_, column);
    if (bytes == nullptr) return {};
    return {reinterpret_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(handle_, column);
}

std::optional<std::int64_t> Statement::maybe_integer(int column) const {
    if (sqlite3_column_type(handle_, column) == SQLITE_NULL) return {};
    return integer(column);
}

Database::Database(std::string path) : path_(std::move(path)) {}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Millis first_patience) {
    std::unique_ptr<Database> database(new Database(path));
    database->usual_patience_ = first_patience;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    const int code = sqlite3_open_v2(path.c_str(), &database->connection_, flags, nullptr);
    if (code != SQLITE_OK) return database->error(code);
    // SQLite opens a file read-only if it cannot be written.
    if (sqlite3_db_readonly(database->connection_, "main") == 1)
        return database->error(SQLITE_READONLY);
    database->start_patience(first_patience); // the settings read the file
    TRY(database->configure());
    struct stat file = {};
    if (path != in_memory && ::stat(path.c_str(), &file) == 0) {
        database->device_ = file.st_dev;
        database->inode_ = file.st_ino;
    }
    return database;
}

Database::~Database() {
    for (const Kept& kept : kept_)
        sqlite3_finalize(kept.handle);
    sqlite3_close(connection_);
}

Result<void> Database::configure() {
    sqlite3_busy_handler(connection_, &Database::on_busy, this);
    sqlite3_wal_hook(connection_, &Database::on_commit, this);
    for (const int off : {SQLITE_DBCONFIG_DQS_DDL, SQLITE_DBCONFIG_DQS_DML})
        sqlite3_db_config(connection_, off, 0, nullptr);
    sqlite3_db_config(connection_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    return execute(settings);
}

Result<void> Database::use_write_ahead_log() {
    if (path_ == in_memory) return {};
    start_patience(patience_now());
    for (int count = 0;; ++count) {
        const int code =
            sqlite3_exec(connection_, "pragma journal_mode = wal", nullptr, nullptr, nullptr);
        // SQLite does not call the busy handler where two processes could wait for each other.
        if (primary(code) == SQLITE_BUSY && on_busy(this, count) != 0) continue;
        if (code != SQLITE_OK) return error(code);
        return {};
    }
}

Result<Statement> Database::prepare(std::string_view sql) {
    const bool is_inside_transaction = sqlite3_get_autocommit(connection_) == 0;
    if (!is_inside_transaction) start_patience(patience_now());
    for (Kept& kept : kept_) {
        if (kept.is_on_loan || kept.sql != sql) continue;
        kept.is_on_loan = true;
        return Statement(*this, kept.handle);
    }
    sqlite3_stmt* handle = nullptr;
    const int code = sqlite3_prepare_v3(connection_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
    if (code != SQLITE_OK) return error(code);
    kept_.push_back(Kept{sql, handle, true});
    return Statement(*this, handle);
}

void Database::take_back(sqlite3_stmt* handle) {
    sqlite3_reset(handle);
    sqlite3_clear_bindings(handle);
    const auto kept = std::find_if(kept_.begin(), kept_.end(),
                                   [&](const Kept& one) { return one.handle == handle; });
    if (kept != kept_.end()) kept->is_on_loan = false;
}

Result<void> Database::execute(const char* sql) {
    const int code = sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return error(code);
    return {};
}

Result<std::int64_t> Database::number_of(std::string_view sql) {
    Statement statement = TRY(prepare(sql));
    const bool has_row = TRY(statement.step());
    return has_row ? statement.integer(0) : 0;
}

std::int64_t Database::changed_rows() const {
    return sqlite3_changes64(connection_);
}

bool Database::was_replaced() const {
    if (path_ == in_memory) return false;
    struct stat file = {};
    if (::stat(path_.c_str(), &file) != 0 || file.st_size < smallest_size) return true;
    return file.st_dev != device_ || file.st_ino != inode_;
}

void Database::checkpoint() {
    int pages = 0;
    int done = 0;
    const int code =
        sqlite3_wal_checkpoint_v2(connection_, "main", SQLITE_CHECKPOINT_PASSIVE, &pages, &done);
    // A failed checkpoint is tried again after the next commit. The data is safe in the log.
    if (code == SQLITE_OK && pages == done) pages_in_log_ = 0;
}

Error Database::locked() const {
    return error(SQLITE_BUSY);
}

Error Database::error(int code) const {
    return unavailable(path_, cause_of(code, connection_), std::string(way_out(code, connection_)));
}

Result<void> Database::set_durability(Durability durability) {
    if (durability == durability_) return {};
    TRY(execute(durability == Durability::full ? "pragma synchronous = full"
                                               : "pragma synchronous = normal"));
    durability_ = durability;
    return {};
}

void Database::start_patience(Millis length) {
    patience_length_ = length;
    patience_end_ = clock_now() + length;
}

Millis Database::patience_now() const {
    return clock_now() < hasty_until_ ? std::min(hasty_patience, usual_patience_) : usual_patience_;
}

// SQLite calls this repeatedly while another process has the lock. A result other than 0 means: try
// again.
int Database::on_busy(void* self, int count) {
    Database& database = *static_cast<Database*>(self);
    const TimePoint now = clock_now();
    if (now >= database.patience_end_) {
        if (database.patience_length_ >= patience) database.hasty_until_ = now + hasty_time;
        return 0;
    }
    constexpr int first_wait = 300; // microseconds; less than a write to disk takes
    constexpr int longest_wait = 5000;
    ::usleep(static_cast<useconds_t>(std::min(first_wait * (count + 1), longest_wait)));
    return 1;
}

int Database::on_commit(void* self, sqlite3*, const char*, int pages) {
    static_cast<Database*>(self)->pages_in_log_ = pages;
    return SQLITE_OK;
}

Result<Transaction> Transaction::begin(Database& database, Durability durability) {
    std::optional<Transaction> begun =
        TRY(try_begin(database, durability, database.patience_now()));
    if (!begun) return database.locked();
    return std::move(*begun);
}

Result<std::optional<Transaction>> Transaction::try_begin(Database& database, Durability durability,
                                                          Millis patience) {
    database.start_patience(patience);
    TRY(database.set_durability(durability));
    const int code =
        sqlite3_exec(database.connection_, "begin immediate", nullptr, nullptr, nullptr);
    if (primary(code) == SQLITE_BUSY) return std::optional<Transaction>();
    if (code != SQLITE_OK) return database.error(code);
    return std::optional<Transaction>(Transaction(database));
}

Transaction::~Transaction() {
    if (database_ == nullptr) return;
    // Some failures have already ended the transaction
    // (https://www.sqlite.org/lang_transaction.html).
    if (sqlite3_get_autocommit(database_->connection_) != 0) return;
    (void)database_->execute("rollback"); // if this fails, nothing more can be done
}

Result<void> Transaction::commit() {
    TRY(database_->execute("commit"));
    database_ = nullptr;
    return {};
}

} // namespace ew::store
