// One connection to one SQLite file, and its statements. It contains no SQL of execward. Every
// failure is an Error of kind store_unavailable that names the file, the cause and a remedy.
#pragma once

#include "base/clock.h"
#include "base/result.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace ew::store {

class Database;

// A prepared statement, borrowed from the database, which must outlive it. The destructor resets it
// and gives it back.
class Statement {
public:
    Statement(Statement&& other) noexcept;
    Statement& operator=(Statement&& other) = delete;
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    ~Statement();

    // Binds the value of the next parameter: ?1, then ?2 and so on. Copies text.
    Statement& bind(std::string_view text);
    Statement& bind(std::int64_t number);
    Statement& bind(std::optional<std::int64_t> number);
    Statement& bind_null();

    // Returns true if there is a row; its columns can be read until the next step. Returns false at
    // the end.
    Result<bool> step();

    // Steps until the end.
    Result<void> run();

    // Columns count from 0. SQLite converts a column of another type; see is_text.
    std::string text(int column) const;
    std::int64_t integer(int column) const;
    std::optional<std::int64_t> maybe_integer(int column) const;

private:
    friend class Database;

    Statement(Database& database, sqlite3_stmt* handle) : database_(&database), handle_(handle) {}

    Database* database_;
    sqlite3_stmt* handle_;
    int parameter_ = 0;
    int failure_ = 0; // result code of the first failed bind
};

enum class Durability : std::uint8_t {
    full,   // on disk when commit() returns
    normal, // survives the end of a process, but not always a power failure
};

class Database {
public:
    // How long a statement or transaction may wait for other processes in total.
    static constexpr Millis patience{2000};

    // After such a wait was too short, statements wait only hasty_patience during hasty_time. So a
    // server that must answer requests does not wait again and again for a process that hangs with
    // the lock.
    static constexpr Millis hasty_patience{50};
    static constexpr Millis hasty_time{5000};

    // The number of pages in the write-ahead log from which wants_checkpoint() returns true.
    static constexpr int checkpoint_pages = 1000;

    // The file must exist (see prepare_file()) or be ":memory:". Changes nothing in it. Until
    // be_patient() is called, the database waits at most `first_patience` for other processes.
    static Result<std::unique_ptr<Database>> open(const std::string& path,
                                                  Millis first_patience = patience);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    // `sql` must be a constant. The statement is kept for the next call.
    Result<Statement> prepare(std::string_view sql);

    // Makes readers independent of writers. The setting is stored in the file.
    Result<void> use_write_ahead_log();

    void be_patient() { usual_patience_ = patience; }

    // Runs several statements without parameters or rows.
    Result<void> execute(const char* sql);

    // Returns the single number that a pragma yields.
    Result<std::int64_t> number_of(std::string_view sql);

    std::int64_t changed_rows() const; // by the last statement

    // Returns true if the path now leads to a different file than at open(), to none, or to one
    // that was emptied.
    bool was_replaced() const;

    // wants_checkpoint() says that the write-ahead log should be copied into the file. checkpoint()
    // copies as much as other processes allow.
    bool wants_checkpoint() const { return pages_in_log_ >= checkpoint_pages; }

    void checkpoint();

    int pages_in_log() const { return pages_in_log_; }

    const std::string& path() const { return path_; }

    // The error for a lock that another process holds for too long.
    Error locked() const;

    // The error for the connection's last failure, which had this result code.
    Error error(int code) const;

private:
    friend class Statement;
    friend class Transaction;

    struct Kept {
        std::string_view sql;
        sqlite3_stmt* handle = nullptr;
        bool is_on_loan = false;
    };

    explicit Database(std::string path);

    Result<void> configure();
    Result<void> set_durability(Durability durability);
    void take_back(sqlite3_stmt* handle);
    void start_patience(Millis length);
    Millis patience_now() const;
    static int on_busy(void* self, int count);
    static int on_commit(void* self, sqlite3* connection, const char* name, int pages);

    std::string path_;
    sqlite3* connection_ = nullptr;
    std::vector<Kept> kept_;
    Millis usual_patience_ = patience;
    Millis patience_length_ = patience; // how long the present wait may take
    TimePoint patience_end_ = {};
    TimePoint hasty_until_ = {};
    int pages_in_log_ = 0;
    Durability durability_ = Durability::full;
    dev_t device_ = 0; // the file at open()
    ino_t inode_ = 0;
};

// All changes between begin() and commit() happen, or none. begin() waits for other writers, so the
// statements inside never have to.
class Transaction {
public:
    static Result<Transaction> begin(Database& database, Durability durability);
    // Returns nullopt if another process was writing during the whole wait.
    static Result<std::optional<Transaction>> try_begin(Database& database, Durability durability,
                                                        Millis patience);

    Transaction(Transaction&& other) noexcept
        : database_(std::exchange(other.database_, nullptr)) {}

    Transaction& operator=(Transaction&& other) = delete;
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction(); // rolls back if not committed

    // On an error, nothing has changed.
    Result<void> commit();

private:
    explicit Transaction(Database& database) : database_(&database) {}

    Database* database_;
};

} // namespace ew::store
