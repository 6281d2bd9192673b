#include "server/process/input_state.h"
#include "support/testing.h"

using ew::Millis;
using ew::TimePoint;
using ew::protocol::Certainty;
using ew::protocol::InputKind;
using ew::protocol::InputState;
using ew::server::InputLook;
using ew::server::InputMemory;

namespace {

const TimePoint start = TimePoint() + Millis(100'000);

InputLook reads(std::uint64_t sleeps) {
    InputLook look{InputKind::line, {}};
    look.reading.reader = {7, sleeps, 0, false};
    return look;
}

InputLook glances(std::uint64_t busy_ms) {
    InputLook look{InputKind::raw, {}};
    look.reading.reader = {7, busy_ms, busy_ms, true};
    return look;
}

InputLook hidden(InputKind kind) {
    InputLook look{kind, {}};
    look.reading.is_hidden = true;
    return look;
}

} // namespace

TEST_SUITE_BEGIN("server/process/input_state");

TEST_CASE("a reader waits at the first look, and since then as long as it sleeps") {
    InputMemory memory;

    CHECK(memory.note(reads(5), {}, start).waiting);
    CHECK(memory.note(reads(5), {}, start + Millis(400)).since_ms == 400u);
    CHECK(memory.note(reads(6), {}, start + Millis(500)).since_ms == 0u);
}

TEST_CASE("no reader is no wait, and forgets the last one") {
    InputMemory memory;
    (void)memory.note(reads(5), {}, start);

    const InputState works = memory.note({InputKind::line, {}}, {}, start + Millis(1));

    CHECK_FALSE(works.waiting);
    CHECK_FALSE(works.since_ms);
    CHECK(works.certainty == Certainty::kernel);
    CHECK(memory.note(reads(5), {}, start + Millis(9)).since_ms == 0u);
}

TEST_CASE("a reader that may be waking does not wait") {
    InputMemory memory;
    InputMemory::Activity typed;
    typed.input = start;

    CHECK_FALSE(memory.note(reads(5), typed, start + Millis(10)).waiting);
    CHECK(memory.note(reads(5), typed, start + InputMemory::waking_time).waiting);
    typed.output = start + Millis(1);
    CHECK(memory.note(reads(5), typed, start + Millis(10)).waiting);
    typed.has_queued_input = true;
    CHECK_FALSE(memory.note(reads(5), typed, start + Millis(10)).waiting);
}

TEST_CASE("short waits need two looks, with little work between them") {
    InputMemory memory;

    CHECK_FALSE(memory.note(glances(100), {}, start).waiting);
    CHECK_FALSE(memory.note(glances(100), {}, start + Millis(50)).waiting); // too early to tell
    CHECK_FALSE(memory.note(glances(150), {}, start + Millis(250)).waiting);
    const InputState rests = memory.note(glances(160), {}, start + Millis(500));
    CHECK(rests.waiting);
    CHECK(rests.since_ms == 250u);
    CHECK(memory.note(glances(160), {}, start + Millis(510)).waiting);
    CHECK_FALSE(memory.note(glances(260), {}, start + Millis(800)).waiting);
    CHECK(memory.note(glances(260), {}, start + Millis(1100)).waiting);
    InputLook works = glances(260);
    works.reading.is_busy = true; // another thread
    CHECK_FALSE(memory.note(works, {}, start + Millis(1110)).waiting);
}

TEST_CASE("without facts of the kernel, a mode of its own and silence count as waiting") {
    InputMemory memory;
    InputMemory::Activity activity;
    activity.output = start;
    const TimePoint later = start + InputMemory::silence;

    CHECK_FALSE(memory.note(hidden(InputKind::password), activity, start + Millis(10)).waiting);
    const InputState asks = memory.note(hidden(InputKind::password), activity, later);
    CHECK(asks.waiting);
    CHECK(asks.certainty == Certainty::termios);
    CHECK(memory.note(hidden(InputKind::raw), activity, later).waiting);
    CHECK_FALSE(memory.note(hidden(InputKind::line), activity, later).waiting);
    InputLook busy = hidden(InputKind::password);
    busy.reading.is_busy = true;
    CHECK_FALSE(memory.note(busy, activity, later).waiting);
}

TEST_SUITE_END();
