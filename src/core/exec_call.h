// One exec/command as a state machine: approve, start, wait, judge, ask again. Pure: an event comes
// in, the next state and what has to be done come out. exec_service carries the effects out.
//
//            allowed                    started              ended, or the wait is over
//   begin ─────────────▶ Starting ─────────────▶ Running ──────────────────────▶ Answered
//     │ must ask            ▲                      │ ended, stopped by the sandbox, may ask
//     ▼          approved   │            approved  ▼
//   Asking ─────────────────┴──────────── AskingToRetry
//
// Every way through ends in Answered, and on it exactly one effect is an answer.
#pragma once

#include "base/error.h"

#include <cstdint>
#include <variant>
#include <vector>

namespace ew::core::exec_call {

namespace state {

// `may_retry`: when the sandbox stops the program, a person may be asked to run it unconfined.
struct Asking {
    bool may_retry = false;
};

struct Starting {
    bool may_retry = false;
};

struct Running {
    bool may_retry = false;
};

struct AskingToRetry {};

struct Answered {};

} // namespace state

using State = std::variant<state::Asking, state::Starting, state::Running, state::AskingToRetry,
                           state::Answered>;

namespace event {

struct Approved {};

// By a person, or because the question found no answer.
struct Refused {
    Error error = {};
};

struct Started {};

struct StartFailed {
    Error error = {};
};

// The program is over and its output is complete, or a descendant holds it back too long.
struct Ended {
    bool was_denied = false; // the sandbox stopped it
};

// The time that the caller was ready to wait is over.
struct WaitOver {};

struct Cancelled {
    bool ends_program = false;
};

} // namespace event

using Event = std::variant<event::Approved, event::Refused, event::Started, event::StartFailed,
                           event::Ended, event::WaitOver, event::Cancelled>;

enum class Confinement : std::uint8_t {
    as_configured,
    none, // what a person was asked for
};

namespace effect {

struct Ask {};

struct AskToRetry {};

struct WithdrawQuestion {};

struct Start {
    Confinement confinement = Confinement::as_configured;
};

struct EndProgram {};

struct AnswerResult {}; // what the program has put out so far, and whether it has ended

struct AnswerRefused {
    Error error = {};
};

struct AnswerFailed {
    Error error = {};
};

struct AnswerCancelled {
    bool program_goes_on = false;
};

} // namespace effect

using Effect = std::variant<effect::Ask, effect::AskToRetry, effect::WithdrawQuestion,
                            effect::Start, effect::EndProgram, effect::AnswerResult,
                            effect::AnswerRefused, effect::AnswerFailed, effect::AnswerCancelled>;

struct Step {
    State next;
    std::vector<Effect> effects;
};

// How a call begins, from what the policy, the rules and remembered approvals say.
struct Verdict {
    enum class Kind : std::uint8_t { run, ask, refuse };

    Kind kind = Kind::refuse;
    bool may_retry = false;
    Confinement confinement = Confinement::as_configured;
    Error refusal = {};
};

Step begin(const Verdict& verdict);

// `escalates`: an approval of the first question means unconfined.
Step on(const State& now, const Event& event, bool escalates);

} // namespace ew::core::exec_call
