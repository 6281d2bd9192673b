#include "store/store.h"
#include "unit/store/scratch.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

using namespace ew::test;
using ew::store::GrantScope;
using ew::store::Store;

namespace fs = std::filesystem;

TEST_CASE("what was recorded is there after the store was closed and opened again") {
    const Scratch scratch;
    const auto id = keep(*open_store(scratch.path()), grant(GrantScope::always, "make"));

    const auto again = open_store(scratch.path());

    CHECK(allowed_by(*again, "make", "/") == id);
}

TEST_CASE("two open stores see what the other has committed at once") {
    const Scratch scratch;
    const auto one = open_store(scratch.path());
    const auto other = open_store(scratch.path());

    const auto id = keep(*one, grant(GrantScope::always, "make"));
    CHECK(allowed_by(*other, "make", "/") == id);

    CHECK(good(other->revoke(ew::store::OneGrant{id}, row(""))) == 1);
    CHECK(allowed_by(*one, "make", "/") == 0);
}

TEST_CASE("a session is resumed with its grants, by another process") {
    const Scratch scratch;
    {
        const auto store = open_store(scratch.path());
        done(store->begin_session("s", "/p", noon));
        keep(*store, grant(GrantScope::session, "make"));
    }

    const auto store = open_store(scratch.path(), noon + one_day);

    CHECK(good(store->resume_session("s", noon + one_day)));
    CHECK(allowed_by(*store, "make", "/", noon + one_day) != 0);
    CHECK_FALSE(good(store->resume_session("another", noon)));
}

TEST_CASE("a session that was not used for 30 days is forgotten with its grants") {
    const Scratch scratch;
    {
        const auto store = open_store(scratch.path());
        done(store->begin_session("s", "/p", noon));
        keep(*store, grant(GrantScope::session, "make"));
        keep(*store, grant(GrantScope::always, "date"));
        CHECK(good(store->resume_session("s", noon + 30 * one_day)));
        CHECK_FALSE(good(store->resume_session("s", noon + 61 * one_day)));
    }

    const auto store = open_store(scratch.path(), noon + 61 * one_day);

    const auto left = good(store->list({{}, {}, true}, noon));
    REQUIRE(left.size() == 1);
    CHECK(left[0].key == "date");
}

TEST_CASE("a session of a server that works on is in use") {
    const Scratch scratch;
    const auto store = open_store(scratch.path());
    done(store->begin_session("s", "/p", noon));
    keep(*store, grant(GrantScope::session, "make"));

    store->audit(row("start", noon + 29 * one_day), {});
    done(store->flush({noon + 29 * one_day, {}}));
    const auto other = open_store(scratch.path(), noon + 58 * one_day);

    CHECK(allowed_by(*other, "make", "/") != 0);
}

TEST_CASE("projects are trusted until they are not") {
    const auto store = open_store(":memory:");
    CHECK_FALSE(good(store->is_project_trusted("/p")));

    done(store->trust_project("/p", noon));
    done(store->trust_project("/p", noon));
    done(store->trust_project("/a", noon));

    CHECK(good(store->is_project_trusted("/p")));
    CHECK(good(store->trusted_projects()) == std::vector<std::string>{"/a", "/p"});
    CHECK(good(store->distrust_project("/p")));
    CHECK_FALSE(good(store->distrust_project("/p")));
    CHECK_FALSE(good(store->is_project_trusted("/p")));
}

TEST_CASE("a database that is deleted while it is open is made anew, without old companions") {
    const Scratch scratch;
    const auto store = open_store(scratch.path());
    done(store->begin_session("s", "/p", noon));
    keep(*store, grant(GrantScope::always, "make"));
    fs::remove(scratch.path());

    CHECK(allowed_by(*store, "make", "/") == 0);
    keep(*store, grant(GrantScope::session, "date"));

    const auto other = open_store(scratch.path());
    CHECK(allowed_by(*other, "date", "/") != 0);
    CHECK(good(other->list({}, noon))[0].project == "/p");
}

TEST_CASE("what was put in the place of an open database is told of if it is none") {
    const Scratch scratch;
    const auto store = open_store(scratch.path());
    keep(*store, grant(GrantScope::always, "make"));
    for (const char* ending : {"", "-wal", "-shm"})
        fs::rename(scratch.path() + ending, scratch.path("old") + ending);
    std::ofstream(scratch.path()) << std::string(9000, '?');
    fs::permissions(scratch.path(), fs::perms::owner_read | fs::perms::owner_write);

    auto refused = store->find_command("make", "/", "s", "/p", noon);

    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ew::ErrorKind::store_unavailable);
    CHECK(refused.error().message.find("it is not a database") != std::string::npos);
    CHECK(refused.error().hint.find("move the file away") != std::string::npos);
}

TEST_CASE("pages that were overwritten are an error of the call that meets them, and no more") {
    const Scratch scratch;
    {
        const auto store = open_store(scratch.path());
        for (int i = 0; i < 200; ++i)
            store->audit(row(std::string(400, 'x')), {});
        done(store->flush({noon, {}}));
    }
    {
        std::fstream file(scratch.path(), std::ios::in | std::ios::out | std::ios::binary);
        constexpr std::streamoff first_page = 4096;
        file.seekp(first_page);
        file << std::string(fs::file_size(scratch.path()) - first_page, '\xa5');
    }

    auto store = Store::open(scratch.path(), noon);

    REQUIRE(store); // nothing of the schema's page is damaged
    auto rows = (*store)->audit_tail(999);
    REQUIRE_FALSE(rows);
    CHECK(rows.error().kind == ew::ErrorKind::store_unavailable);
    CHECK(rows.error().message.find("it is damaged") != std::string::npos);
    CHECK_FALSE((*store)->record(row("decision"), grant(GrantScope::always, "make")));
    CHECK_FALSE((*store)->find_command("make", "/", "s", "/p", noon));
}

TEST_CASE("a store that could not be opened tells why, at once, and tries again later") {
    const Scratch scratch;
    std::ofstream(scratch.path("file")) << "no directory";
    const auto store = Store::unopened(scratch.path("file/execward.db"));

    for (int i = 0; i < 2; ++i) {
        auto refused = store->record(row("decision"), grant(GrantScope::always, "make"));
        REQUIRE_FALSE(refused);
        CHECK(refused.error().kind == ew::ErrorKind::store_unavailable);
        CHECK(refused.error().message.find(scratch.path("file")) != std::string::npos);
    }
}

TEST_CASE("rows stay queued when they cannot be written, and are due again later") {
    const Scratch scratch;
    std::ofstream(scratch.path("file")) << "no directory";
    const auto store = Store::unopened(scratch.path("file/execward.db"));
    store->audit(row("start"), {});

    CHECK_FALSE(store->flush({noon, {}}));

    CHECK(store->flush_at() == ew::TimePoint{} + ew::store::AuditQueue::retry_delay);
}
