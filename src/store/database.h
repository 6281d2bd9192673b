// One connection to one SQLite file, and statements on it. No SQL of the product is here. Every
// failure is an Error of the kind store_unavailable that names the file, the cause and the way out.
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

// A prepared statement on loan from the database that prepared it, which outlives it. Given back,
// reset, when it is destroyed.
class Statement {
public:
    Statement(Statement&& other) noexcept;
    Statement& operator=(Statement&& other) = delete;
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    ~Statement();

    // The value of the next parameter: ?1, then ?2 and so on. Text is copied.
    Statement& bind(std::string_view text);
    Statement& bind(std::int64_t number);
    Statement& bind(std::optional<std::int64_t> number);
    Statement& bind_null();

    // True: there is a row, whose columns can be read until the next step. False: that was all.
    Result<bool> step();

    // Steps to the end.
    Result<void> run();

    // Columns count from 0. One of another type is converted as SQLite does; see is_text.
    std::string text(int column) const;
    std::int64_t integer(int column) const;
    std::optional<std::int64_t> maybe_integer(int column) const;

private:
    friend class Database;

    Statement(Database& database, sqlite3_stmt* handle) : database_(&database), handle_(handle) {}

    Database* database_;
    sqlite3_stmt* handle_;
    int parameter_ = 0;
    int failure_ = 0; // result code of the first bind that failed
};

enum class Durability : std::uint8_t {
    full,   // on the disk when commit() returns
    normal, // survives the end of any process, but not always a loss of power
};

class Database {
public:
    // A statement or transaction waits at most so long, in all, for other processes.
    static constexpr Millis patience{2000};

    // When that was not enough, a while of hasty_time follows in which it waits less: who has to
    // answer requests must not wait again and again for a process that hangs with the lock.
    static constexpr Millis hasty_patience{50};
    static constexpr Millis hasty_time{5000};

    // At least so many pages in the write-ahead log make wants_checkpoint() true.
    static constexpr int checkpoint_pages = 1000;

    // The file must exist, see prepare_file(), or be ":memory:". Nothing in it is changed.
    // Until it is in use, see be_patient(), it waits at most `first_patience` for other processes.
    static Result<std::unique_ptr<Database>> open(const std::string& path,
                                                  Millis first_patience = patience);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    // `sql` is a constant: it is kept, and so is the statement, for the next time.
    Result<Statement> prepare(std::string_view sql);

    // From now on readers do not wait for writers. The file remembers it.
    Result<void> use_write_ahead_log();

    void be_patient() { usual_patience_ = patience; }

    // Several statements without parameters or rows.
    Result<void> execute(const char* sql);

    // The one number that a pragma answers.
    Result<std::int64_t> number_of(std::string_view sql);

    std::int64_t last_id() const;      // of the last insert
    std::int64_t changed_rows() const; // by the last statement

    // The path leads to another file than it did at open(), or to none.
    bool was_replaced() const;

    // Whether flushing the write-ahead log into the file is due, and doing it as far as no other
    // process is in the way.
    bool wants_checkpoint() const { return pages_in_log_ >= checkpoint_pages; }

    void checkpoint();

    int pages_in_log() const { return pages_in_log_; }

    const std::string& path() const { return path_; }

    // Another process was writing for too long.
    Error locked() const;

    // What the connection says about its last failure, which had this result code.
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
    Millis patience_length_ = patience; // of the wait that is allowed now
    TimePoint patience_end_ = {};
    TimePoint hasty_until_ = {};
    int pages_in_log_ = 0;
    Durability durability_ = Durability::full;
    dev_t device_ = 0; // of the file at open()
    ino_t inode_ = 0;
};

// Everything between begin() and commit() happens, or nothing does. Waits at begin() for other
// writers, so that no statement in it has to.
class Transaction {
public:
    static Result<Transaction> begin(Database& database, Durability durability);
    // Absent: another process was writing all the time that this waited.
    static Result<std::optional<Transaction>> try_begin(Database& database, Durability durability,
                                                        Millis patience);

    Transaction(Transaction&& other) noexcept
        : database_(std::exchange(other.database_, nullptr)) {}

    Transaction& operator=(Transaction&& other) = delete;
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction(); // takes back what was not committed

    // Error: nothing of it happened.
    Result<void> commit();

private:
    explicit Transaction(Database& database) : database_(&database) {}

    Database* database_;
};

} // namespace ew::store
