#include "store/grants.h"
#include "unit/store/scratch.h"

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <string>

using namespace ew::test;
using ew::store::Grant;
using ew::store::GrantFilter;
using ew::store::GrantKind;
using ew::store::GrantScope;
using ew::store::GrantsOfProject;
using ew::store::GrantsOfSession;
using ew::store::OneGrant;

TEST_CASE("a grant for a directory counts there and nowhere else") {
    const auto store = open_store(":memory:");

    const auto id = keep(*store, grant(GrantScope::directory, "make"));

    CHECK(allowed_by(*store, "make", "/p/src") == id);
    CHECK(allowed_by(*store, "make", "/p/src/deep") == 0);
    CHECK(allowed_by(*store, "make", "/p") == 0);
    CHECK(allowed_by(*store, "make all", "/p/src") == 0);
}

TEST_CASE("a grant for a workspace counts below it, and not beside it") {
    const auto store = open_store(":memory:");

    const auto id = keep(*store, grant(GrantScope::workspace, "make"));

    CHECK(allowed_by(*store, "make", "/p/src") == id);
    CHECK(allowed_by(*store, "make", "/p/src/deep/er") == id);
    CHECK(allowed_by(*store, "make", "/p/src2") == 0);
    CHECK(allowed_by(*store, "make", "/p") == 0);
}

TEST_CASE("directories are compared by whole names") {
    using ew::store::is_at_or_below;

    CHECK(is_at_or_below("/a/b", "/a"));
    CHECK(is_at_or_below("/a", "/a"));
    CHECK(is_at_or_below("/a", "/"));
    CHECK_FALSE(is_at_or_below("/ab", "/a"));
    CHECK_FALSE(is_at_or_below("/a", "/a/b"));
    CHECK_FALSE(is_at_or_below("/a", ""));
}

TEST_CASE("a grant for a session counts for that session only") {
    const auto store = open_store(":memory:");

    const auto id = keep(*store, grant(GrantScope::session, "make"));

    CHECK(allowed_by(*store, "make", "/anywhere") == id);
    CHECK_FALSE(good(store->find_command("make", "/anywhere", "other", "/p", noon)));
    CHECK_FALSE(good(store->find_command("make", "/anywhere", "", "/p", noon)));
}

TEST_CASE("a denial refuses its command and allows nothing") {
    const auto store = open_store(":memory:");
    Grant denial = grant(GrantScope::always, "make");
    denial.kind = GrantKind::denial;

    const auto id = keep(*store, denial);

    CHECK(allowed_by(*store, "make", "/p/src") == 0);
    CHECK(good(store->find_denial("make", "/x", "other", "/q", noon))->id == id);
    CHECK_FALSE(good(store->find_denial("make test", "/x", "other", "/q", noon)));
    CHECK(good(store->prefixes("s", "/p", noon)).empty());
}

TEST_CASE("a question allows and refuses nothing, and only the newest are kept") {
    const auto store = open_store(":memory:");
    Grant question = grant(GrantScope::always, "make");
    question.kind = GrantKind::question;
    keep(*store, question);
    CHECK(allowed_by(*store, "make", "/p/src") == 0);
    CHECK_FALSE(good(store->find_denial("make", "/x", "s", "/p", noon)));
    CHECK(good(store->prefixes("s", "/p", noon)).empty());

    const auto grant_id = keep(*store, grant(GrantScope::always, "date"));
    for (std::int64_t i = 0; i < ew::store::most_questions; ++i) {
        question.key = "make " + std::to_string(i);
        keep(*store, question);
    }
    const auto kept = good(store->list({}, noon));
    CHECK(kept.size() == static_cast<std::size_t>(ew::store::most_questions) + 1);
    for (const Grant& one : kept)
        CHECK(one.key != "make");
    CHECK(allowed_by(*store, "date", "/p/src") == grant_id);
}

TEST_CASE("a grant for a host allows no command, and a command allows no host") {
    const auto store = open_store(":memory:");
    Grant host = grant(GrantScope::always, "good.example");
    host.kind = GrantKind::host;
    const auto id = keep(*store, host);
    keep(*store, grant(GrantScope::always, "make"));

    CHECK(good(store->find_host("good.example", "/p", "s", "/p", noon))->id == id);
    CHECK(allowed_by(*store, "good.example", "/p/src") == 0);
    CHECK_FALSE(good(store->find_host("make", "/p", "s", "/p", noon)));
}

TEST_CASE("a denial for a session ends with it, and an approval is no denial") {
    const auto store = open_store(":memory:");
    Grant denial = grant(GrantScope::session, "make");
    denial.kind = GrantKind::denial;
    keep(*store, denial);
    keep(*store, grant(GrantScope::session, "date"));

    CHECK(good(store->find_denial("make", "/x", "s", "/p", noon)));
    CHECK_FALSE(good(store->find_denial("make", "/x", "other", "/p", noon)));
    CHECK_FALSE(good(store->find_denial("date", "/x", "s", "/p", noon)));
}

TEST_CASE("grants for a project and for ever count for every session") {
    const auto store = open_store(":memory:");

    const auto project = keep(*store, grant(GrantScope::project, "make"));
    const auto always = keep(*store, grant(GrantScope::always, "date"));

    CHECK(good(store->find_command("make", "/x", "other", "/p", noon))->id == project);
    CHECK_FALSE(good(store->find_command("make", "/x", "other", "/q", noon)));
    CHECK(good(store->find_command("date", "/x", "other", "/q", noon))->id == always);
}

TEST_CASE("the narrowest grant is the one that is found") {
    const auto store = open_store(":memory:");
    constexpr std::array scopes = {GrantScope::always, GrantScope::project, GrantScope::session,
                                   GrantScope::workspace, GrantScope::directory};

    for (const GrantScope scope : scopes) {
        const auto id = keep(*store, grant(scope, "make"));
        CHECK(allowed_by(*store, "make", "/p/src") == id);
    }
}

TEST_CASE("a grant counts until the millisecond it expires") {
    const auto store = open_store(":memory:");
    Grant short_one = grant(GrantScope::session, "make");
    short_one.expires_at = noon + 10;

    const auto id = keep(*store, short_one);

    CHECK(allowed_by(*store, "make", "/", noon + 9) == id);
    CHECK(allowed_by(*store, "make", "/", noon + 10) == 0);
    CHECK(good(store->list({}, noon + 10)).empty());
    CHECK(good(store->list({{}, {}, true}, noon + 10)).size() == 1);
}

TEST_CASE("the same grant given twice is one, with the newer reason and expiry") {
    const auto store = open_store(":memory:");
    Grant again = grant(GrantScope::session, "make");
    const auto first = keep(*store, again);
    again.reason = "still fine";
    again.expires_at = noon + one_day;

    const auto second = keep(*store, again, noon + 5);

    CHECK(second == first);
    const auto grants = good(store->list({}, noon));
    REQUIRE(grants.size() == 1);
    CHECK(grants[0].reason == "still fine");
    CHECK(grants[0].expires_at == noon + one_day);
    CHECK(grants[0].created_at == noon);
}

TEST_CASE("a grant that has expired is not renewed but made anew") {
    const auto store = open_store(":memory:");
    Grant old = grant(GrantScope::session, "make");
    old.expires_at = noon + 10;
    const auto first = keep(*store, old);

    const auto second = keep(*store, grant(GrantScope::session, "make"), noon + 20);

    CHECK(second > first);
    CHECK(good(store->list({{}, {}, true}, noon + 20)).size() == 1);
}

TEST_CASE("what differs in scope, directory, session or kind is not the same grant") {
    const auto store = open_store(":memory:");
    Grant elsewhere = grant(GrantScope::directory, "make");
    elsewhere.directory = "/p/other";
    Grant prefix = grant(GrantScope::session, "make");
    prefix.kind = GrantKind::prefix;

    for (const Grant& one :
         {grant(GrantScope::directory, "make"), elsewhere, grant(GrantScope::session, "make"),
          grant(GrantScope::session, "make", "t"), prefix})
        keep(*store, one);

    CHECK(good(store->list({}, noon)).size() == 5);
}

TEST_CASE("prefix grants are found for their session, their project, and those for ever") {
    const auto store = open_store(":memory:");
    for (const GrantScope scope : {GrantScope::session, GrantScope::project, GrantScope::always}) {
        Grant one = grant(scope, "[\"git\",\"log\"]");
        one.kind = GrantKind::prefix;
        keep(*store, one);
    }

    CHECK(good(store->prefixes("s", "/p", noon)).size() == 3);
    CHECK(good(store->prefixes("t", "/p", noon)).size() == 2);
    CHECK(good(store->prefixes("t", "/q", noon)).size() == 1);
    CHECK(allowed_by(*store, "[\"git\",\"log\"]", "/p") == 0);
}

TEST_CASE("a prefix grant that has expired is not found") {
    const auto store = open_store(":memory:");
    Grant one = grant(GrantScope::always, "[\"make\"]");
    one.kind = GrantKind::prefix;
    one.expires_at = noon + 10;
    keep(*store, one);

    CHECK(good(store->prefixes("s", "/p", noon + 10)).empty());
}

TEST_CASE("every text of a grant comes back as it was, whatever is in it") {
    const auto store = open_store(":memory:");
    Grant one = grant(GrantScope::directory, std::string("k\0ey'\"\xff", 8));
    one.directory = "/d\nir/\xf0\x9f\x98\x80";
    one.command = "echo 'x' \x1b[31m";
    one.reason = std::string(100'000, 'r');

    keep(*store, one);

    const auto found = good(store->find_command(one.key, one.directory, "s", "/p", noon));
    REQUIRE(found);
    CHECK(found->key == one.key);
    CHECK(found->directory == one.directory);
    CHECK(found->command == one.command);
    CHECK(found->reason == one.reason);
}

TEST_CASE("a list is of a session, of a project with its sessions, or of everything") {
    const auto store = open_store(":memory:");
    done(store->begin_session("s", "/p", noon));
    done(store->begin_session("t", "/q", noon));
    keep(*store, grant(GrantScope::session, "a", "s"));
    keep(*store, grant(GrantScope::session, "b", "t"));
    keep(*store, grant(GrantScope::project, "c"));
    keep(*store, grant(GrantScope::always, "d"), noon + 1);

    CHECK(good(store->list({}, noon)).size() == 4);
    CHECK(good(store->list({"s", {}, false}, noon)).size() == 1);
    CHECK(good(store->list({{}, "/p", false}, noon)).size() == 2);
    CHECK(good(store->list({"s", "/p", false}, noon)).size() == 1);
    CHECK(good(store->list({}, noon)).front().key == "d");
    CHECK(good(store->list({"t", {}, false}, noon)).front().project == "/q");
}

TEST_CASE("a grant that is revoked does not count any more, and the audit tells") {
    const auto store = open_store(":memory:");
    const auto id = keep(*store, grant(GrantScope::session, "make"));
    keep(*store, grant(GrantScope::session, "date"));
    ew::store::AuditRow author = row("", noon + 1);
    author.decided_by = "command line";

    CHECK(good(store->revoke(OneGrant{id}, author)) == 1);

    CHECK(allowed_by(*store, "make", "/") == 0);
    CHECK(allowed_by(*store, "date", "/") != 0);
    const auto told = good(store->audit_tail(1));
    CHECK(told[0].event == "revocation");
    CHECK(told[0].rule == "grant " + std::to_string(id));
    CHECK(told[0].detail == "make");
    CHECK(told[0].decided_by == "command line");
    CHECK(good(store->revoke(OneGrant{id}, author)) == 0);
}

TEST_CASE("a session, a project with its sessions, or everything can be revoked") {
    const auto store = open_store(":memory:");
    done(store->begin_session("s", "/p", noon));
    done(store->begin_session("t", "/q", noon));
    keep(*store, grant(GrantScope::session, "a", "s"));
    keep(*store, grant(GrantScope::session, "b", "t"));
    keep(*store, grant(GrantScope::project, "c"));
    keep(*store, grant(GrantScope::always, "d"));

    CHECK(good(store->revoke(GrantsOfSession{"t"}, row(""))) == 1);
    CHECK(good(store->revoke(GrantsOfProject{"/p"}, row(""))) == 2);
    CHECK(good(store->revoke(ew::store::EveryGrant{}, row(""))) == 1);
    CHECK(good(store->list({{}, {}, true}, noon)).empty());
}

TEST_CASE("the number of a grant is never given to another") {
    const auto store = open_store(":memory:");
    const auto first = keep(*store, grant(GrantScope::session, "a"));
    CHECK(good(store->revoke(ew::store::EveryGrant{}, row(""))) == 1);

    CHECK(keep(*store, grant(GrantScope::session, "a")) > first);
}

TEST_CASE("a grant for a session needs one") {
    const auto store = open_store(":memory:");

    CHECK_FALSE(store->record(row("decision"), grant(GrantScope::session, "make", "")));
    CHECK(good(store->audit_tail(9)).empty());
}

TEST_CASE("a row with a content that is not understood is passed over, counted, and revocable") {
    const Scratch scratch;
    const auto store = open_store(scratch.path());
    keep(*store, grant(GrantScope::always, "make"));
    sqlite3* other = nullptr;
    REQUIRE(sqlite3_open(scratch.path().c_str(), &other) == SQLITE_OK);
    const int code = sqlite3_exec(other,
                                  "insert into grants (kind, scope, key, directory, project,"
                                  " command, origin, reason, created_at)"
                                  " values ('command', 'galaxy', 'make', '', '', '', '', '', 1),"
                                  " ('command', 'session', 'date', '', '', '', '', '', 1)",
                                  nullptr, nullptr, nullptr);
    sqlite3_close(other);
    REQUIRE(code == SQLITE_OK);

    CHECK(good(store->list({}, noon)).size() == 1);
    CHECK(store->skipped_rows() == 2);
    CHECK(allowed_by(*store, "date", "/") == 0);
    CHECK(good(store->revoke(ew::store::EveryGrant{}, row(""))) == 3);
}
