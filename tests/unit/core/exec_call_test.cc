// The life of a call: every state against every event.
#include "core/exec_call.h"
#include "support/testing.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

using namespace ew::core::exec_call;

namespace {

std::string name_of(const State& state) {
    constexpr std::array<const char*, 5> names = {"Asking", "Starting", "Running", "AskingToRetry",
                                                  "Answered"};
    return names[state.index()];
}

std::string name_of(const Event& event) {
    constexpr std::array<const char*, 7> names = {"Approved", "Refused",  "Started",  "StartFailed",
                                                  "Ended",    "WaitOver", "Cancelled"};
    return names[event.index()];
}

std::string name_of(const Effect& effect) {
    constexpr std::array<const char*, 9> names = {
        "Ask",          "AskToRetry",    "WithdrawQuestion", "Start",          "EndProgram",
        "AnswerResult", "AnswerRefused", "AnswerFailed",     "AnswerCancelled"};
    return names[effect.index()];
}

bool is_answer(const Effect& effect) {
    return std::holds_alternative<effect::AnswerResult>(effect) ||
           std::holds_alternative<effect::AnswerRefused>(effect) ||
           std::holds_alternative<effect::AnswerFailed>(effect) ||
           std::holds_alternative<effect::AnswerCancelled>(effect);
}

int answers(const Step& step) {
    int count = 0;
    for (const Effect& effect : step.effects)
        count += is_answer(effect) ? 1 : 0;
    return count;
}

std::vector<State> every_state() {
    return {state::Asking{false},   state::Asking{true},   state::Starting{false},
            state::Starting{true},  state::Running{false}, state::Running{true},
            state::AskingToRetry{}, state::Answered{}};
}

std::vector<Event> every_event() {
    return {event::Approved{},     event::Refused{{ew::ErrorKind::denied, "no"}},
            event::Started{},      event::StartFailed{{ew::ErrorKind::spawn_failed, "no"}},
            event::Ended{false},   event::Ended{true},
            event::WaitOver{},     event::Cancelled{false},
            event::Cancelled{true}};
}

bool is_answered(const State& state) {
    return std::holds_alternative<state::Answered>(state);
}

// "Running: AnswerResult -> Answered"
std::string shown(const Step& step) {
    std::string text;
    for (const Effect& effect : step.effects)
        text += name_of(effect) + " ";
    return text + "-> " + name_of(step.next);
}

std::string row(const State& state, const Event& event, bool escalates = false) {
    return shown(on(state, event, escalates));
}

} // namespace

TEST_CASE("a call is answered exactly when it reaches its last state") {
    for (const bool escalates : {false, true})
        for (const State& state : every_state())
            for (const Event& event : every_event()) {
                CAPTURE(name_of(state));
                CAPTURE(name_of(event));
                const Step step = on(state, event, escalates);

                const bool has_just_finished = !is_answered(state) && is_answered(step.next);
                CHECK(answers(step) == (has_just_finished ? 1 : 0));
                if (answers(step) > 0) CHECK(is_answer(step.effects.back()));
            }
}

TEST_CASE("the table of states and events is this one, and whatever it leaves out is late") {
    const std::vector<std::pair<std::string, std::string>> table = {
        {"Asking Approved", "Start -> Starting"},
        {"Asking Refused", "AnswerRefused -> Answered"},
        {"Asking Cancelled", "WithdrawQuestion AnswerCancelled -> Answered"},
        {"Starting Started", "-> Running"},
        {"Starting StartFailed", "AnswerFailed -> Answered"},
        {"Starting Cancelled", "EndProgram AnswerCancelled -> Answered"},
        {"Running Ended", "AnswerResult -> Answered"},
        {"Running Ended denied, may retry", "AskToRetry -> AskingToRetry"},
        {"Running WaitOver", "AnswerResult -> Answered"},
        {"Running Cancelled keep", "AnswerCancelled -> Answered"},
        {"Running Cancelled end", "EndProgram AnswerCancelled -> Answered"},
        {"AskingToRetry Approved", "Start -> Starting"},
        {"AskingToRetry Refused", "AnswerResult -> Answered"},
        {"AskingToRetry Cancelled", "WithdrawQuestion AnswerCancelled -> Answered"},
    };
    const auto expected = [&](const State& state, const Event& event) {
        std::vector<std::string> names = {name_of(state) + " " + name_of(event)};
        if (const auto* cancelled = std::get_if<event::Cancelled>(&event))
            names.push_back(names.front() + (cancelled->ends_program ? " end" : " keep"));
        const auto* ended = std::get_if<event::Ended>(&event);
        const auto* running = std::get_if<state::Running>(&state);
        if (ended != nullptr && running != nullptr && ended->was_denied && running->may_retry)
            names = {names.front() + " denied, may retry"};
        for (const auto& entry : table)
            for (const std::string& name : names)
                if (entry.first == name) return entry.second;
        return "-> " + name_of(state);
    };

    for (const State& state : every_state())
        for (const Event& event : every_event()) {
            CAPTURE(name_of(state));
            CAPTURE(name_of(event));
            CHECK(row(state, event) == expected(state, event));
        }
}

TEST_CASE("a verdict starts, asks or refuses") {
    Verdict verdict;
    verdict.kind = Verdict::Kind::run;
    CHECK(shown(begin(verdict)) == "Start -> Starting");
    verdict.kind = Verdict::Kind::ask;
    CHECK(shown(begin(verdict)) == "Ask -> Asking");
    verdict.kind = Verdict::Kind::refuse;
    CHECK(shown(begin(verdict)) == "AnswerRefused -> Answered");
}

TEST_CASE("only an approval that was asked for leaves the sandbox") {
    const auto confinement = [](const Step& step) {
        const auto* start = std::get_if<effect::Start>(&step.effects.front());
        REQUIRE(start != nullptr);
        return start->confinement;
    };
    Verdict run;
    run.kind = Verdict::Kind::run;

    CHECK(confinement(begin(run)) == Confinement::as_configured);
    CHECK(confinement(on(state::Asking{}, event::Approved{}, false)) == Confinement::as_configured);
    CHECK(confinement(on(state::Asking{}, event::Approved{}, true)) == Confinement::none);
    CHECK(confinement(on(state::AskingToRetry{}, event::Approved{}, false)) == Confinement::none);
}

TEST_CASE("a second attempt is the last") {
    const Step again = on(state::AskingToRetry{}, event::Approved{}, false);
    const Step running = on(again.next, event::Started{}, false);

    CHECK(row(running.next, event::Ended{true}) == "AnswerResult -> Answered");
}

TEST_CASE("a program that runs unconfined already is not tried again") {
    const Step escalated = on(state::Asking{true}, event::Approved{}, true);
    const Step running = on(escalated.next, event::Started{}, true);

    CHECK(row(running.next, event::Ended{true}, true) == "AnswerResult -> Answered");
}

TEST_CASE("a cancelled call says whether its program goes on") {
    const auto goes_on = [](const State& state, bool ends_program) {
        const Step step = on(state, event::Cancelled{ends_program}, false);
        const auto* answer = std::get_if<effect::AnswerCancelled>(&step.effects.back());
        REQUIRE(answer != nullptr);
        return answer->program_goes_on;
    };

    CHECK(goes_on(state::Running{}, false));
    CHECK_FALSE(goes_on(state::Starting{}, false)); // it has not begun to
    CHECK_FALSE(goes_on(state::Running{}, true));
    CHECK_FALSE(goes_on(state::Starting{}, true));
    CHECK_FALSE(goes_on(state::Asking{}, false));
    CHECK_FALSE(goes_on(state::AskingToRetry{}, false));
}
