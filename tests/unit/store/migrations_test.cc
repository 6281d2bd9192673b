#include "store/migrations.h"
#include "unit/store/scratch.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <fstream>

using namespace ew::test;
using ew::store::GrantScope;
using ew::store::Store;

namespace {

// What another program does with the file.
void run_sql(const std::string& path, const char* sql) {
    sqlite3* other = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &other) == SQLITE_OK);
    const int code = sqlite3_exec(other, sql, nullptr, nullptr, nullptr);
    sqlite3_close(other);
    REQUIRE(code == SQLITE_OK);
    ::chmod(path.c_str(), 0600);
}

ew::Error refusal(const std::string& path) {
    auto opened = Store::open(path, noon);
    REQUIRE_FALSE(opened);
    return opened.error();
}

} // namespace

TEST_CASE("an empty file becomes a database") {
    const Scratch scratch;
    std::ofstream(scratch.path()).flush();

    CHECK(keep(*open_store(scratch.path()), grant(GrantScope::always, "make")) == 1);
}

TEST_CASE("a database of a newer execward is refused and left as it is") {
    const Scratch scratch;
    keep(*open_store(scratch.path()), grant(GrantScope::always, "make"));
    run_sql(scratch.path(), "pragma user_version = 99");

    const ew::Error error = refusal(scratch.path());

    CHECK(error.kind == ew::ErrorKind::store_unavailable);
    CHECK(error.message.find("was written by a newer execward") != std::string::npos);
    run_sql(scratch.path(), "pragma user_version = 1");
    CHECK(allowed_by(*open_store(scratch.path()), "make", "/") == 1);
}

TEST_CASE("a database of another program is refused and left as it is") {
    const Scratch scratch;
    run_sql(scratch.path(), "create table bookmarks (url text)");

    CHECK(refusal(scratch.path()).message.find("of another program") != std::string::npos);

    const auto raw = good(ew::store::Database::open(scratch.path()));
    CHECK(good(raw->number_of("select count(*) from sqlite_schema")) == 1);
    CHECK(good(raw->number_of("pragma user_version")) == 0);
    auto mode = good(raw->prepare("pragma journal_mode"));
    CHECK(good(mode.step()));
    CHECK(mode.text(0) == "delete");
}

TEST_CASE("the audit cannot be changed, only grow old") {
    const auto database = good(ew::store::Database::open(":memory:"));
    done(ew::store::migrate(*database));
    done(database->execute("insert into audit values (1, 2, '', '', '', '', '', '', '', '', '')"));

    CHECK_FALSE(database->execute("update audit set decision = 'approved'"));
    CHECK(database->execute("delete from audit"));
}
