// The life of a patch: every state against every event, and what holds on every way through.
#include "core/patch_call.h"
#include "support/random.h"
#include "support/testing.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace ew::core::patch_call;
using ew::Error;
using ew::ErrorKind;

namespace {

std::string name_of(const State& state) {
    constexpr std::array<const char*, 7> names = {"Checking", "Asking",  "Noting",  "Applying",
                                                  "Settling", "Tidying", "Answered"};
    return names[state.index()];
}

std::string name_of(const Event& event) {
    constexpr std::array<const char*, 13> names = {
        "Checked",     "CheckFailed", "Approved", "Refused",   "Noted",  "NoteFailed", "Applied",
        "ApplyFailed", "Settled",     "Tidied",   "Cancelled", "Ending", "Abandoned"};
    return names[event.index()];
}

std::string name_of(const Effect& effect) {
    constexpr std::array<const char*, 11> names = {
        "Check",  "CallOff",       "Ask",           "WithdrawQuestion", "Note",        "Apply",
        "Settle", "RemoveJournal", "AnswerChecked", "AnswerApplied",    "AnswerFailed"};
    return names[effect.index()];
}

template <class EffectType>
bool has(const Step& step) {
    return std::ranges::any_of(step.effects, [](const Effect& effect) {
        return std::holds_alternative<EffectType>(effect);
    });
}

bool is_answer(const Effect& effect) {
    return std::holds_alternative<effect::AnswerChecked>(effect) ||
           std::holds_alternative<effect::AnswerApplied>(effect) ||
           std::holds_alternative<effect::AnswerFailed>(effect);
}

int answers(const Step& step) {
    return static_cast<int>(std::ranges::count_if(step.effects, is_answer));
}

bool is_answered(const State& state) {
    return std::holds_alternative<state::Answered>(state);
}

Error error(std::string message) {
    return {ErrorKind::io_failed, std::move(message)};
}

const Error ending = {ErrorKind::shutting_down, "the server is ending"};

std::vector<State> every_state() {
    std::vector<State> states = {state::Asking{},
                                 state::Noting{},
                                 state::Noting{error("cancelled")},
                                 state::Applying{},
                                 state::Applying{error("cancelled")},
                                 state::Settling{error("lost")},
                                 state::Tidying{std::nullopt, true},
                                 state::Tidying{error("undone"), true},
                                 state::Tidying{error("not noted"), false},
                                 state::Answered{}};
    for (const Purpose purpose : {Purpose::check, Purpose::apply}) {
        states.push_back(state::Checking{purpose});
        states.push_back(state::Checking{purpose, error("cancelled"), {}});
        states.push_back(state::Checking{purpose, {}, ending});
        states.push_back(state::Checking{purpose, error("cancelled"), ending});
    }
    return states;
}

std::vector<Event> every_event() {
    return {event::Checked{{Verdict::Kind::apply, {}}},
            event::Checked{{Verdict::Kind::ask, {}}},
            event::Checked{{Verdict::Kind::refuse, error("forbidden")}},
            event::CheckFailed{error("does not match")},
            event::Approved{},
            event::Refused{error("denied")},
            event::Noted{},
            event::NoteFailed{error("disk full")},
            event::Applied{},
            event::ApplyFailed{error("does not match any more"), true},
            event::ApplyFailed{error("killed"), false},
            event::Settled{Settlement::applied, ""},
            event::Settled{Settlement::undone, ""},
            event::Settled{Settlement::unclear, "it took too long"},
            event::Tidied{},
            event::Cancelled{},
            event::Ending{ending},
            event::Abandoned{error("the server has ended")}};
}

std::string shown(const Step& step) {
    std::string text;
    for (const Effect& effect : step.effects)
        text += name_of(effect) + " ";
    return text + "-> " + name_of(step.next);
}

// What is so particular about the state that the table has a row of its own for it.
std::string particulars(const State& state) {
    if (const auto* checking = std::get_if<state::Checking>(&state)) {
        if (checking->cancelled) return " cancelled";
        if (checking->purpose == Purpose::check) return " only";
        return checking->ending ? " while it ends" : "";
    }
    const auto* noting = std::get_if<state::Noting>(&state);
    if (noting != nullptr && noting->cancelled) return " cancelled";
    const auto* tidying = std::get_if<state::Tidying>(&state);
    return tidying != nullptr && tidying->failure ? " failed" : "";
}

std::string particulars(const Event& event) {
    if (const auto* checked = std::get_if<event::Checked>(&event))
        return std::array<const char*, 3>{" apply", " ask",
                                          " refuse"}[static_cast<int>(checked->verdict.kind)];
    if (const auto* failed = std::get_if<event::ApplyFailed>(&event))
        return failed->is_undone ? " undone" : " unknown";
    if (const auto* settled = std::get_if<event::Settled>(&event))
        return std::array<const char*, 3>{" applied", " undone",
                                          " unclear"}[static_cast<int>(settled->settlement)];
    return {};
}

const effect::AnswerFailed& failure_of(const Step& step) {
    REQUIRE_FALSE(step.effects.empty());
    const auto* answer = std::get_if<effect::AnswerFailed>(&step.effects.back());
    REQUIRE(answer != nullptr);
    return *answer;
}

const std::vector<std::pair<std::string, std::string>> table = {
    {"Checking, Checked apply", "Note -> Noting"},
    {"Checking, Checked ask", "Ask -> Asking"},
    {"Checking, Checked refuse", "AnswerFailed -> Answered"},
    {"Checking, CheckFailed", "AnswerFailed -> Answered"},
    {"Checking, Cancelled", "CallOff -> Checking"},
    {"Checking, Abandoned", "AnswerFailed -> Answered"},
    {"Checking while it ends, Checked apply", "AnswerFailed -> Answered"},
    {"Checking while it ends, Checked ask", "AnswerFailed -> Answered"},
    {"Checking while it ends, Checked refuse", "AnswerFailed -> Answered"},
    {"Checking while it ends, CheckFailed", "AnswerFailed -> Answered"},
    {"Checking while it ends, Cancelled", "CallOff -> Checking"},
    {"Checking while it ends, Abandoned", "AnswerFailed -> Answered"},
    {"Checking only, Checked apply", "AnswerChecked -> Answered"},
    {"Checking only, Checked ask", "AnswerChecked -> Answered"},
    {"Checking only, Checked refuse", "AnswerChecked -> Answered"},
    {"Checking only, CheckFailed", "AnswerFailed -> Answered"},
    {"Checking only, Cancelled", "CallOff -> Checking"},
    {"Checking only, Abandoned", "AnswerFailed -> Answered"},
    {"Checking cancelled, Checked apply", "AnswerFailed -> Answered"},
    {"Checking cancelled, Checked ask", "AnswerFailed -> Answered"},
    {"Checking cancelled, Checked refuse", "AnswerFailed -> Answered"},
    {"Checking cancelled, CheckFailed", "AnswerFailed -> Answered"},
    {"Checking cancelled, Cancelled", "CallOff -> Checking"},
    {"Checking cancelled, Abandoned", "AnswerFailed -> Answered"},
    {"Asking, Approved", "Note -> Noting"},
    {"Asking, Refused", "AnswerFailed -> Answered"},
    {"Asking, Cancelled", "WithdrawQuestion AnswerFailed -> Answered"},
    {"Asking, Ending", "WithdrawQuestion AnswerFailed -> Answered"},
    {"Asking, Abandoned", "WithdrawQuestion AnswerFailed -> Answered"},
    {"Noting, Noted", "Apply -> Applying"},
    {"Noting, NoteFailed", "RemoveJournal -> Tidying"},
    {"Noting, Abandoned", "AnswerFailed -> Answered"},
    {"Noting cancelled, Noted", "RemoveJournal -> Tidying"},
    {"Noting cancelled, NoteFailed", "RemoveJournal -> Tidying"},
    {"Noting cancelled, Abandoned", "AnswerFailed -> Answered"},
    {"Applying, Applied", "RemoveJournal -> Tidying"},
    {"Applying, ApplyFailed undone", "RemoveJournal -> Tidying"},
    {"Applying, ApplyFailed unknown", "Settle -> Settling"},
    {"Applying, Cancelled", "CallOff -> Applying"},
    {"Applying, Abandoned", "AnswerFailed -> Answered"},
    {"Settling, Settled applied", "AnswerApplied -> Answered"},
    {"Settling, Settled undone", "AnswerFailed -> Answered"},
    {"Settling, Settled unclear", "AnswerFailed -> Answered"},
    {"Settling, Abandoned", "AnswerFailed -> Answered"},
    {"Tidying, Tidied", "AnswerApplied -> Answered"},
    {"Tidying, Abandoned", "AnswerFailed -> Answered"},
    {"Tidying failed, Tidied", "AnswerFailed -> Answered"},
    {"Tidying failed, Abandoned", "AnswerFailed -> Answered"},
};

// Remembers a way through the table, and checks each step of it.
class Walk {
public:
    explicit Walk(Purpose purpose) : purpose_(purpose), state_(begin(purpose).next) {}

    const State& state() const { return state_; }

    void take(const Event& event) {
        const bool was_answered = is_answered(state_);
        const Step step = on(state_, event);
        CAPTURE(name_of(state_));
        CAPTURE(name_of(event) + particulars(event));
        CAPTURE(shown(step));
        note(event);
        check_answer(step, was_answered);
        for (const Effect& effect : step.effects)
            check(effect, event);
        check_question(step, event);
        state_ = step.next;
    }

private:
    // What is known about the files, and what was allowed. Only events that a state expects count.
    void note(const Event& event) {
        const std::string name = name_of(state_) + " " + name_of(event) + particulars(event);
        is_approved_ |= name == "Checking Checked apply" || name == "Asking Approved";
        is_noted_ |= name == "Noting Noted";
        is_applied_ |= name == "Applying Applied" || name == "Settling Settled applied";
        is_as_before_ |= name == "Applying ApplyFailed undone" || name == "Settling Settled undone";
        is_settled_ |= name.starts_with("Settling Settled");
    }

    void check_answer(const Step& step, bool was_answered) {
        const bool has_just_finished = !was_answered && is_answered(step.next);
        CHECK(answers(step) == (has_just_finished ? 1 : 0));
        if (answers(step) > 0) CHECK(is_answer(step.effects.back()));
        if (was_answered) CHECK(step.effects.empty());
    }

    // A question that was not answered does not outlive its patch.
    void check_question(const Step& step, const Event& event) const {
        const bool was_asking = std::holds_alternative<state::Asking>(state_);
        const bool is_asking = std::holds_alternative<state::Asking>(step.next);
        const bool is_over = std::holds_alternative<event::Approved>(event) ||
                             std::holds_alternative<event::Refused>(event);
        CHECK(has<effect::Ask>(step) == (!was_asking && is_asking));
        CHECK(has<effect::WithdrawQuestion>(step) == (was_asking && !is_asking && !is_over));
    }

    void check(const Effect& effect, const Event& event) {
        if (purpose_ == Purpose::check)
            CHECK((is_answer(effect) || std::holds_alternative<effect::CallOff>(effect)));
        if (std::holds_alternative<effect::Note>(effect)) {
            CHECK(is_approved_);
            CHECK_FALSE(std::exchange(was_noting_, true));
        }
        if (std::holds_alternative<effect::Apply>(effect)) {
            CHECK(is_approved_);
            CHECK(is_noted_);
            CHECK_FALSE(std::exchange(was_begun_, true));
        }
        if (std::holds_alternative<effect::Settle>(effect)) CHECK(was_begun_);
        if (std::holds_alternative<effect::RemoveJournal>(effect)) {
            CHECK(was_noting_);
            CHECK((!was_begun_ || is_applied_ || is_as_before_));
        }
        if (std::holds_alternative<effect::AnswerApplied>(effect)) CHECK(is_applied_);
        const auto* failed = std::get_if<effect::AnswerFailed>(&effect);
        if (failed != nullptr) check_failure(*failed, event);
    }

    void check_failure(const effect::AnswerFailed& failed, const Event& event) const {
        CHECK(failed.was_begun == was_begun_);
        if (std::holds_alternative<event::Abandoned>(event)) return; // the next server decides
        CHECK_FALSE(is_applied_);
        if (was_begun_) CHECK((is_as_before_ || is_settled_));
        if (failed.error.message.ends_with("; no file was changed"))
            CHECK((!was_begun_ || is_as_before_));
    }

    Purpose purpose_;
    State state_;
    bool is_approved_ = false;
    bool was_noting_ = false; // Note was an effect
    bool is_noted_ = false;
    bool was_begun_ = false; // Apply was an effect
    bool is_applied_ = false;
    bool is_as_before_ = false;
    bool is_settled_ = false;
};

} // namespace

TEST_CASE("the table of patch states and events is this one, and whatever it leaves out is late") {
    const auto expected = [](const State& state, const Event& event) {
        const std::string name =
            name_of(state) + particulars(state) + ", " + name_of(event) + particulars(event);
        const auto entry =
            std::ranges::find(table, name, &std::pair<std::string, std::string>::first);
        return entry == table.end() ? "-> " + name_of(state) : entry->second;
    };
    std::vector<std::string> met;

    for (const State& state : every_state())
        for (const Event& event : every_event()) {
            const std::string name =
                name_of(state) + particulars(state) + ", " + name_of(event) + particulars(event);
            CAPTURE(name);
            CHECK(shown(on(state, event)) == expected(state, event));
            met.push_back(name);
        }

    for (const auto& entry : table)
        CHECK_MESSAGE(std::ranges::count(met, entry.first) > 0, entry.first);
}

TEST_CASE("on every way through, files are changed with approval and a journal, and told truly") {
    const std::vector<Event> events = every_event();
    ew::test::Random random(2026);
    int settled = 0;

    for (int round = 0; round < 20'000; round++) {
        Walk walk(random.below(8) == 0 ? Purpose::check : Purpose::apply);
        for (int length = 0; length < 40 && !is_answered(walk.state()); length++) {
            const bool was_settling = std::holds_alternative<state::Settling>(walk.state());
            walk.take(events[random.below(events.size())]);
            settled += was_settling && is_answered(walk.state()) ? 1 : 0;
        }
        walk.take(events[random.below(events.size())]);
    }

    CHECK(settled > 100);
}

TEST_CASE("a patch that was checked only is never asked about, noted or applied") {
    for (const Event& event : every_event()) {
        const Step step = on(begin(Purpose::check).next, event);
        CHECK_FALSE(has<effect::Ask>(step));
        CHECK_FALSE(has<effect::Note>(step));
    }
}

TEST_CASE("a patch that was applied before its cancellation arrived is told as applied") {
    const Step cancelled = on(state::Applying{}, event::Cancelled{});
    const Step done = on(cancelled.next, event::Applied{});

    CHECK(has<effect::AnswerApplied>(on(done.next, event::Tidied{})));
}

TEST_CASE("a cancelled patch says that no file was changed as soon as that is known") {
    for (const State& state : std::vector<State>{state::Checking{}, state::Noting{}}) {
        const Step cancelled = on(state, event::Cancelled{});
        const Step ended = std::holds_alternative<state::Checking>(state)
                               ? on(cancelled.next, event::CheckFailed{error("killed")})
                               : on(on(cancelled.next, event::Noted{}).next, event::Tidied{});
        CHECK(failure_of(ended).error.kind == ErrorKind::cancelled);
        CHECK(failure_of(ended).error.message == "the patch was cancelled; no file was changed");
    }
    CHECK(failure_of(on(state::Asking{}, event::Cancelled{})).error.message ==
          "the patch was cancelled; no file was changed");

    const Step cancelled = on(state::Applying{}, event::Cancelled{});
    const Step killed = on(cancelled.next, event::ApplyFailed{error("killed"), false});
    CHECK(failure_of(on(killed.next, event::Settled{Settlement::undone, ""})).error.message ==
          "the patch was cancelled; no file was changed");
}

TEST_CASE("a patch whose journal could not decide names the way out") {
    const Step killed = on(state::Applying{}, event::ApplyFailed{error("it was killed"), false});
    const effect::AnswerFailed failed =
        failure_of(on(killed.next, event::Settled{Settlement::unclear, "a disk is gone"}));

    CHECK(failed.error.message ==
          "it was killed; some files may be changed and others not: a disk is gone");
    CHECK(failed.error.hint.find("execward patch recover") != std::string::npos);
}

TEST_CASE("a session that ends lets a check answer, and a patch that is being applied go on") {
    const Step check = on(begin(Purpose::check).next, event::Ending{ending});
    CHECK(has<effect::AnswerChecked>(on(check.next, event::Checked{})));

    const Step patch = on(begin(Purpose::apply).next, event::Ending{ending});
    const Step refused = on(patch.next, event::Checked{{Verdict::Kind::apply, {}}});
    CHECK(failure_of(refused).error.message == ending.message);

    CHECK(shown(on(state::Noting{}, event::Ending{ending})) == "-> Noting");
    CHECK(shown(on(state::Applying{}, event::Ending{ending})) == "-> Applying");
}
