#include "store/database.h"
#include "store/files.h"
#include "support/child_process.h"
#include "unit/store/scratch.h"

#include <sched.h>
#include <sys/mount.h>

using namespace ew::test;
using ew::store::Database;
using ew::store::Durability;
using ew::store::GrantScope;
using ew::store::Statement;
using ew::store::Transaction;

namespace {

std::unique_ptr<Database> fresh_database(const std::string& path) {
    if (path != ":memory:") (void)good(ew::store::prepare_file(path));
    auto database = good(Database::open(path));
    done(database->use_write_ahead_log());
    done(database->execute("create table t (a integer, b text) strict"));
    return database;
}

void insert(Database& database, std::int64_t number) {
    Statement statement = good(database.prepare("insert into t values (?1, ?2)"));
    done(statement.bind(number).bind("x").run());
}

} // namespace

TEST_CASE("values go in and come out as they were") {
    const auto database = fresh_database(":memory:");
    {
        Statement statement = good(database->prepare("insert into t values (?1, ?2)"));
        statement.bind(std::optional<std::int64_t>()).bind(std::string_view("a\0b", 3));
        done(statement.run());
    }

    Statement statement = good(database->prepare("select a, b, 7 from t"));
    REQUIRE(good(statement.step()));
    CHECK_FALSE(statement.maybe_integer(0));
    CHECK(statement.text(1) == std::string("a\0b", 3));
    CHECK(statement.integer(2) == 7);
    CHECK_FALSE(good(statement.step()));
}

TEST_CASE("a statement that was given back starts anew, and one on loan is not lent twice") {
    const auto database = fresh_database(":memory:");
    insert(*database, 1);
    insert(*database, 2);

    Statement one = good(database->prepare("select a from t order by a"));
    CHECK(good(one.step()));
    Statement other = good(database->prepare("select a from t order by a"));
    CHECK(good(other.step()));
    CHECK(good(one.step()));

    CHECK(one.integer(0) == 2);
    CHECK(other.integer(0) == 1);
}

TEST_CASE("a wrong number of values is an error, not a crash") {
    const auto database = fresh_database(":memory:");
    Statement statement = good(database->prepare("insert into t values (?1, ?2)"));

    CHECK_FALSE(statement.bind(std::int64_t{1}).bind("x").bind("too many").run());
}

TEST_CASE("a transaction that is not committed has not happened") {
    const auto database = fresh_database(":memory:");
    {
        const Transaction transaction = good(Transaction::begin(*database, Durability::full));
        insert(*database, 1);
    }
    Transaction transaction = good(Transaction::begin(*database, Durability::normal));
    insert(*database, 2);
    done(transaction.commit());

    CHECK(good(database->number_of("select count(*) from t")) == 1);
}

TEST_CASE("another process's lock is waited for, but not for longer than said") {
    const Scratch scratch;
    const auto holder = fresh_database(scratch.path());
    const auto waiter = good(Database::open(scratch.path()));
    const Transaction held = good(Transaction::begin(*holder, Durability::full));

    const ew::TimePoint before = ew::clock_now();
    auto refused = Transaction::begin(*waiter, Durability::full);
    const auto waited = ew::clock_now() - before;

    REQUIRE_FALSE(refused); // while it is held: so there is an end to waiting
    CHECK(refused.error().message.find("has it locked") != std::string::npos);
    CHECK(waited >= Database::patience);
    CHECK(good(waiter->number_of("select count(*) from t")) == 0); // reading needs no lock
}

TEST_CASE("opening waits for another process from the first statement on") {
    constexpr ew::Millis patience{200};
    const Scratch scratch;
    { const auto database = fresh_database(scratch.path()); }
    const auto holder = good(Database::open(scratch.path()));
    done(holder->execute("pragma locking_mode = exclusive; begin exclusive"));

    const ew::TimePoint begun = ew::clock_now();
    auto opened = Database::open(scratch.path(), patience);

    REQUIRE_FALSE(opened);
    CHECK(opened.error().message.find("another process has it locked") != std::string::npos);
    CHECK(ew::clock_now() - begun >= patience);
}

TEST_CASE("the write-ahead log is flushed into the file when it is long") {
    const Scratch scratch;
    const auto database = fresh_database(scratch.path());
    const std::string large(3 << 20, 'x');
    CHECK_FALSE(database->wants_checkpoint());

    for (int i = 0; i < 2; ++i) {
        Statement statement = good(database->prepare("insert into t values (1, ?1)"));
        done(statement.bind(large).run());
    }

    CHECK(database->wants_checkpoint());
    database->checkpoint();
    CHECK_FALSE(database->wants_checkpoint());
    CHECK(std::filesystem::file_size(scratch.path()) > large.size());
}

TEST_CASE("a file that was replaced or deleted is noticed") {
    const Scratch scratch;
    const auto database = fresh_database(scratch.path());
    CHECK_FALSE(database->was_replaced());

    std::filesystem::rename(scratch.path(), scratch.path("elsewhere"));

    CHECK(database->was_replaced());
}

TEST_CASE("a file that was emptied is noticed") {
    const Scratch scratch;
    const auto database = fresh_database(scratch.path());

    std::filesystem::resize_file(scratch.path(), 1);

    CHECK(database->was_replaced());
}

TEST_CASE("a full disk is an error of the one call, and room makes it work again") {
    const Scratch scratch;
    const std::string path = scratch.path("disk/execward.db");
    std::filesystem::create_directory(scratch.path("disk"));
    const ChildOutcome outcome = in_child([&] {
        // A disk of its own, of 1 MiB, seen by this child alone.
        if (::unshare(::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0)
            return true;
        if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("small", scratch.path("disk").c_str(), "tmpfs", 0, "size=1m,mode=0700") != 0)
            return true; // may not mount: nothing can be shown
        const auto store = open_store(path);
        keep(*store, grant(GrantScope::always, "before"));
        { // fills the disk
            const std::unique_ptr<std::FILE, int (*)(std::FILE*)> filler(
                std::fopen(scratch.path("disk/filler").c_str(), "w"), &std::fclose);
            const std::string block(4096, 'f');
            while (std::fwrite(block.data(), 1, block.size(), filler.get()) == block.size() &&
                   std::fflush(filler.get()) == 0) {}
        }
        auto large = grant(GrantScope::always, "large");
        large.reason = std::string(100'000, 'r');
        auto refused = store->record(row("decision"), large);
        CHECK_FALSE(refused);
        if (refused) return false;
        CHECK(refused.error().kind == ew::ErrorKind::store_unavailable);
        CHECK(refused.error().message.find("the disk is full") != std::string::npos);
        CHECK(allowed_by(*store, "large", "/") == 0);
        CHECK(allowed_by(*store, "before", "/") != 0);

        std::filesystem::remove(scratch.path("disk/filler"));
        CHECK(keep(*store, large) != 0);
        return !refused && refused.error().message.find("the disk is full") != std::string::npos &&
               allowed_by(*store, "large", "/") != 0;
    });

    CHECK_MESSAGE(outcome.is_true, outcome.errors);
}
