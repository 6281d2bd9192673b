#include "store/audit.h"
#include "unit/store/scratch.h"

#include <string>

using namespace ew::test;
using ew::Millis;
using ew::TimePoint;
using ew::store::AuditQueue;
using ew::store::AuditRow;
using ew::store::GrantScope;
using ew::store::Moment;

namespace {

constexpr TimePoint start = {};

// Does it ever take less than waiting for a database does? Once is enough: on a busy machine
// anything can take long.
template <class Function>
bool is_short(Function function) {
    for (int tries = 0; tries < 30; ++tries) {
        const TimePoint before = ew::clock_now();
        function();
        if (ew::clock_now() - before < ew::store::Database::patience) return true;
    }
    return false;
}

} // namespace

TEST_CASE("a row waits until flush, which is due after the delay") {
    const auto store = open_store(":memory:");
    CHECK_FALSE(store->flush_at());

    store->audit(row("start"), start);
    store->audit(row("exit"), start + Millis(500));

    CHECK(store->flush_at() == start + Millis(1000));
    CHECK(good(store->audit_tail(9)).empty());
    done(store->flush({noon, start + Millis(1000)}));
    CHECK_FALSE(store->flush_at());
    const auto rows = good(store->audit_tail(9));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].event == "start");
    CHECK(rows[1].event == "exit");
}

TEST_CASE("every column of a row comes back") {
    const auto store = open_store(":memory:");
    const AuditRow whole = {0,        noon,       "session", "call", "decision", "[\"ls\"]",
                            "/p/src", "approved", "client",  "f:1",  "why"};

    CHECK(good(store->record(whole, {})) == 0);

    const AuditRow read = good(store->audit_tail(1))[0];
    CHECK(read.id == 1);
    CHECK(read.at == noon);
    CHECK(read.session == "session");
    CHECK(read.call == "call");
    CHECK(read.event == "decision");
    CHECK(read.argv == "[\"ls\"]");
    CHECK(read.directory == "/p/src");
    CHECK(read.decision == "approved");
    CHECK(read.decided_by == "client");
    CHECK(read.rule == "f:1");
    CHECK(read.detail == "why");
}

TEST_CASE("what was queued is written before the decision that follows it") {
    const auto store = open_store(":memory:");
    store->audit(row("question"), start);

    const auto id = keep(*store, grant(GrantScope::session, "make"));

    CHECK_FALSE(store->flush_at());
    const auto rows = good(store->audit_tail(9));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].event == "question");
    CHECK(rows[1].event == "decision");
    CHECK(rows[1].rule == "grant " + std::to_string(id));
}

TEST_CASE("uses of a grant are counted, with the time of the last") {
    const auto store = open_store(":memory:");
    const auto id = keep(*store, grant(GrantScope::session, "make"));

    for (int i = 0; i < 3; ++i)
        store->note_use(id, {noon + i, start});
    done(store->flush({noon, start}));

    const auto grants = good(store->list({}, noon));
    CHECK(grants[0].uses == 3);
    CHECK(grants[0].last_used_at == noon + 2);
}

TEST_CASE("rows that do not fit into the queue are counted, and the count is written") {
    const auto store = open_store(":memory:");

    for (std::size_t i = 0; i < AuditQueue::most_rows + 7; ++i)
        store->audit(row("start"), start);
    done(store->flush({noon, start}));

    const auto last = good(store->audit_tail(1))[0];
    CHECK(last.event == "dropped");
    CHECK(last.detail == "7 rows could not be kept");
    CHECK(last.id == AuditQueue::most_rows + 1);
}

TEST_CASE("the queue is bounded in bytes too") {
    const auto store = open_store(":memory:");
    AuditRow large = row("start");
    large.argv = std::string(ew::store::audit_text_limit, 'x');
    constexpr std::size_t fitting = AuditQueue::most_bytes / ew::store::audit_text_limit;

    for (std::size_t i = 0; i < fitting + 2; ++i)
        store->audit(large, start);
    done(store->flush({noon, start}));

    CHECK(good(store->audit_tail(1))[0].detail == "2 rows could not be kept");
}

TEST_CASE("uses of more grants than are counted are not noted") {
    const auto store = open_store(":memory:");
    const auto id = keep(*store, grant(GrantScope::session, "make"));
    for (std::size_t i = 0; i < AuditQueue::most_used_grants; ++i)
        store->note_use(1'000'000 + static_cast<std::int64_t>(i), {noon, start});

    store->note_use(id, {noon, start});
    done(store->flush({noon, start}));

    CHECK(good(store->list({}, noon))[0].uses == 0);
}

TEST_CASE("a text that is too long is cut between characters and says so") {
    const auto store = open_store(":memory:");
    AuditRow long_row = row("start");
    long_row.detail = std::string(ew::store::audit_text_limit - 1, 'x') + "äöü";

    CHECK(good(store->record(long_row, {})) == 0);

    CHECK(good(store->audit_tail(1))[0].detail ==
          std::string(ew::store::audit_text_limit - 1, 'x') + "…");
}

TEST_CASE("rows can be read in pieces, each from where the last one ended") {
    const auto store = open_store(":memory:");
    for (int i = 0; i < 5; ++i)
        CHECK(good(store->record(row(std::to_string(i)), {})) == 0);

    const auto first = good(store->audit_after(0, 3));
    const auto rest = good(store->audit_after(first.back().id, 3));

    CHECK(first.size() == 3);
    REQUIRE(rest.size() == 2);
    CHECK(rest[1].event == "4");
    CHECK(good(store->audit_after(rest.back().id, 3)).empty());
}

TEST_CASE("old rows are deleted, a batch at a time") {
    const Scratch scratch;
    constexpr int old_rows = ew::store::prune_batch + 20;
    {
        const auto store = open_store(scratch.path());
        for (int i = 0; i < old_rows; ++i)
            store->audit(row("old"), start);
        done(store->flush({noon, start}));
    }

    const auto store = open_store(scratch.path(), noon + 91 * one_day);
    CHECK(good(store->audit_tail(9999)).size() == 20);
    store->audit(row("new", noon + 91 * one_day), start);
    done(store->flush({noon + 91 * one_day, start}));

    const auto rows = good(store->audit_tail(9999));
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].event == "new");
}

TEST_CASE("rows are kept for ever if that is what is set") {
    const Scratch scratch;
    ew::store::StoreSettings settings;
    settings.audit_keep_days = 0;
    CHECK(good(open_store(scratch.path())->record(row("old"), {})) == 0);

    const auto store = open_store(scratch.path(), noon + 9999 * one_day, settings);

    CHECK(good(store->audit_tail(9)).size() == 1);
}

TEST_CASE("a flush does not wait for a busy database: the rows go later, or wait at the end") {
    const Scratch scratch;
    const auto store = open_store(scratch.path());
    const auto other = good(ew::store::Database::open(scratch.path()));
    store->audit(row("start"), start);
    {
        const auto held =
            good(ew::store::Transaction::begin(*other, ew::store::Durability::normal));
        CHECK(is_short([&] { done(store->flush({noon, start})); }));
        CHECK(store->flush_at() == start + AuditQueue::retry_delay);
        auto refused = store->flush_all({noon, start});
        REQUIRE_FALSE(refused);
        CHECK(refused.error().message.find("has it locked") != std::string::npos);
    }

    CHECK(good(store->audit_tail(9)).empty());
    done(store->flush_all({noon, start}));
    CHECK(good(store->audit_tail(9)).size() == 1);
    CHECK_FALSE(store->flush_at());
}
