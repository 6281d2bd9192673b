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
    constexpr std::array<const char*, 8> names = {"Approved", "Refused",     "Edited",
                                                  "Started",  "StartFailed", "Ended",
                                                  "WaitOver", "Cancelled"};
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

constexpr std::array<RetryRule, 3> every_rule = {RetryRule::never, RetryRule::after_network,
                                                 RetryRule::after_any};
constexpr std::array<Refusals, 3> all_refusals = {Refusals::none, Refusals::some,
                                                  Refusals::network};

std::vector<State> every_state() {
    std::vector<State> states = {state::Starting{RetryRule::never, true}, state::AskingToRetry{},
                                 state::Answered{}};
    for (const RetryRule rule : every_rule) {
        states.push_back(state::Asking{rule, Bounds::as_asked});
        states.push_back(state::Asking{rule, Bounds::none});
        states.push_back(state::Starting{rule, false});
        states.push_back(state::Running{rule});
    }
    return states;
}

std::vector<Event> every_event() {
    std::vector<Event> events = {
        event::Approved{},
        event::Approved{Bounds::widened},
        event::Refused{{ew::ErrorKind::denied, "no"}},
        event::Edited{{Verdict::Kind::run, RetryRule::never, Bounds::as_asked, {}}},
        event::Edited{{Verdict::Kind::ask, RetryRule::never, Bounds::as_asked, {}}},
        event::Edited{},
        event::Started{},
        event::StartFailed{{ew::ErrorKind::spawn_failed, "no"}},
        event::StartFailed{{ew::ErrorKind::sandbox_unavailable, "no"}},
        event::WaitOver{},
        event::Cancelled{false},
        event::Cancelled{true}};
    for (const Refusals refusals : all_refusals) {
        events.push_back(event::Ended{refusals, {}});
        events.push_back(event::Ended{refusals, Bounds::widened});
    }
    return events;
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

std::string row(const State& state, const Event& event) {
    return shown(on(state, event));
}

Bounds bounds_of(const Step& step) {
    const auto* start = std::get_if<effect::Start>(&step.effects.front());
    REQUIRE(start != nullptr);
    return start->bounds;
}

// What is so particular about the state or the event that the table has a row of its own for it.
std::string particulars(const State& state, const Event& event) {
    const auto* cancelled = std::get_if<event::Cancelled>(&event);
    if (cancelled != nullptr && std::holds_alternative<state::Running>(state))
        return cancelled->ends_program ? " end" : " keep";
    const auto* edited = std::get_if<event::Edited>(&event);
    if (edited != nullptr && std::holds_alternative<state::Asking>(state)) {
        if (edited->verdict.kind == Verdict::Kind::refuse) return "";
        return edited->verdict.kind == Verdict::Kind::run ? " runs" : " asks";
    }
    const auto* failed = std::get_if<event::StartFailed>(&event);
    if (const auto* starting = std::get_if<state::Starting>(&state); failed && starting) {
        if (starting->is_again) return " again";
        return failed->error.kind == ew::ErrorKind::sandbox_unavailable ? " unconfined" : "";
    }
    const auto* ended = std::get_if<event::Ended>(&event);
    const auto* running = std::get_if<state::Running>(&state);
    if (ended == nullptr || running == nullptr || ended->refusals == Refusals::none) return {};
    if (running->retry == RetryRule::never) return {};
    if (running->retry == RetryRule::after_network && ended->refusals != Refusals::network)
        return {};
    return ended->allowed ? " refused, allowed before" : " refused, may ask";
}

} // namespace

TEST_CASE("a call is answered exactly when it reaches its last state") {
    for (const State& state : every_state())
        for (const Event& event : every_event()) {
            CAPTURE(name_of(state));
            CAPTURE(name_of(event));
            const Step step = on(state, event);

            const bool has_just_finished = !is_answered(state) && is_answered(step.next);
            CHECK(answers(step) == (has_just_finished ? 1 : 0));
            if (answers(step) > 0) CHECK(is_answer(step.effects.back()));
        }
}

TEST_CASE("the table of states and events is this one, and whatever it leaves out is late") {
    const std::vector<std::pair<std::string, std::string>> table = {
        {"Asking Approved", "Start -> Starting"},
        {"Asking Refused", "AnswerRefused -> Answered"},
        {"Asking Edited runs", "Start -> Starting"},
        {"Asking Edited asks", "Ask -> Asking"},
        {"Asking Edited", "AnswerRefused -> Answered"},
        {"Asking Cancelled", "WithdrawQuestion AnswerCancelled -> Answered"},
        {"Starting Started", "-> Running"},
        {"Starting StartFailed", "AnswerFailed -> Answered"},
        {"Starting StartFailed unconfined", "AnswerRefused -> Answered"},
        {"Starting StartFailed again", "AnswerResult -> Answered"},
        {"Starting Cancelled", "EndProgram AnswerCancelled -> Answered"},
        {"Running Ended", "AnswerResult -> Answered"},
        {"Running Ended refused, may ask", "AskToRetry -> AskingToRetry"},
        {"Running Ended refused, allowed before", "Start -> Starting"},
        {"Running WaitOver", "AnswerResult -> Answered"},
        {"Running Cancelled keep", "AnswerCancelled -> Answered"},
        {"Running Cancelled end", "EndProgram AnswerCancelled -> Answered"},
        {"AskingToRetry Approved", "Start -> Starting"},
        {"AskingToRetry Refused", "AnswerResult -> Answered"},
        {"AskingToRetry Cancelled", "WithdrawQuestion AnswerCancelled -> Answered"},
    };
    const auto expected = [&](const State& state, const Event& event) {
        const std::string name = name_of(state) + " " + name_of(event) + particulars(state, event);
        for (const auto& entry : table)
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

TEST_CASE("only what a person was asked for leaves the sandbox") {
    Verdict run;
    run.kind = Verdict::Kind::run;
    CHECK(bounds_of(begin(run)) == Bounds::as_asked);

    const RetryRule rule = RetryRule::after_any;
    for (const Bounds asked : {Bounds::as_asked, Bounds::none})
        CHECK(bounds_of(on(state::Asking{rule, asked}, event::Approved{})) == asked);
    for (const Bounds again : {Bounds::widened, Bounds::none})
        CHECK(bounds_of(on(state::AskingToRetry{}, event::Approved{again})) == again);
}

TEST_CASE("an answer to the first question does not say how a second attempt is confined") {
    const Step step = on(state::Asking{}, event::Approved{Bounds::none});

    CHECK(bounds_of(step) == Bounds::as_asked);
}

TEST_CASE("a second attempt is the last, whoever allowed it") {
    const event::Ended refused = {Refusals::network, {}};
    const event::Ended allowed = {Refusals::network, Bounds::widened};
    const std::array<Step, 2> again = {on(state::AskingToRetry{}, event::Approved{Bounds::widened}),
                                       on(state::Running{RetryRule::after_any}, allowed)};

    for (const Step& step : again) {
        const Step running = on(step.next, event::Started{});
        CHECK(row(running.next, refused) == "AnswerResult -> Answered");
        CHECK(row(running.next, allowed) == "AnswerResult -> Answered");
    }
}

TEST_CASE("a second attempt that cannot be started leaves the result of the first") {
    const Step again = on(state::AskingToRetry{}, event::Approved{});
    const Step failed =
        on(again.next, event::StartFailed{{ew::ErrorKind::sandbox_unavailable, "no"}});

    const auto* answer = std::get_if<effect::AnswerResult>(&failed.effects.back());
    REQUIRE(answer != nullptr);
    REQUIRE(answer->trouble);
    CHECK(answer->trouble->message == "no");
}

TEST_CASE("a program that runs unconfined already is not tried again") {
    const Step escalated = on(state::Asking{RetryRule::after_any, Bounds::none}, event::Approved{});
    const Step running = on(escalated.next, event::Started{});

    CHECK(row(running.next, event::Ended{Refusals::network, {}}) == "AnswerResult -> Answered");
}

TEST_CASE("an approval from before does not make a policy ask that never does") {
    const event::Ended allowed = {Refusals::network, Bounds::none};

    CHECK(row(state::Running{RetryRule::never}, allowed) == "AnswerResult -> Answered");
}

TEST_CASE("which policies may ask for a second attempt, and after what") {
    using ew::core::ApprovalPolicy;
    ew::core::GranularFlags silent;
    silent.sandbox_approval = false;

    CHECK(retry_rule(ApprovalPolicy::untrusted, {}) == RetryRule::after_any);
    CHECK(retry_rule(ApprovalPolicy::on_failure, {}) == RetryRule::after_any);
    CHECK(retry_rule(ApprovalPolicy::on_request, {}) == RetryRule::after_network);
    CHECK(retry_rule(ApprovalPolicy::granular, {}) == RetryRule::after_any);
    CHECK(retry_rule(ApprovalPolicy::granular, silent) == RetryRule::never);
    CHECK(retry_rule(ApprovalPolicy::never, {}) == RetryRule::never);
}

TEST_CASE("a cancelled call says whether its program goes on") {
    const auto goes_on = [](const State& state, bool ends_program) {
        const Step step = on(state, event::Cancelled{ends_program});
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
