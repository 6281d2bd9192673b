// One exec/command as a state machine: approve, start, wait, judge, ask again. Pure: an event comes
// in, the next state and what has to be done come out. exec_service carries the effects out.
//
//            allowed                    started              ended, or the wait is over
//   begin ─────────────▶ Starting ─────────────▶ Running ──────────────────────▶ Answered
//     │ must ask            ▲ ▲                    │ ended, the sandbox refused it something, may
//     ask ▼          approved   │ └─ allowed before ───┤
//   Asking ─────────────────┤                      ▼
//                           └─ approved ───── AskingToRetry
//
// Every way through ends in Answered, and on it exactly one effect is an answer. A command is run
// again at most once.
#pragma once

#include "base/error.h"
#include "core/judgement/policy_types.h"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace ew::core::exec_call {

// How an attempt is confined.
enum class Bounds : std::uint8_t {
    as_asked, // by the policy of the session, with what the call was granted beyond it
    widened,  // the same, with what was refused allowed as well
    none,
};

// What a sandbox has refused to a program that failed.
enum class Refusals : std::uint8_t { none, some, network };

// After which of them a person may be asked to run the command again.
enum class RetryRule : std::uint8_t { never, after_network, after_any };

RetryRule retry_rule(ApprovalPolicy policy, const GranularFlags& granular);

namespace state {

struct Asking {
    RetryRule retry = RetryRule::never;
    Bounds bounds = Bounds::as_asked; // that an approval means
};

struct Starting {
    RetryRule retry = RetryRule::never;
    bool is_again = false; // an attempt that ran is there already
};

struct Running {
    RetryRule retry = RetryRule::never;
};

struct AskingToRetry {};

struct Answered {};

} // namespace state

using State = std::variant<state::Asking, state::Starting, state::Running, state::AskingToRetry,
                           state::Answered>;

namespace event {

struct Approved {
    Bounds again = Bounds::none; // that the answer to a second question means
};

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
    Refusals refusals = Refusals::none;
    std::optional<Bounds> allowed = {}; // an earlier approval lets it run again so
};

// The time that the caller was ready to wait is over.
struct WaitOver {};

struct Cancelled {
    bool ends_program = false;
};

} // namespace event

using Event = std::variant<event::Approved, event::Refused, event::Started, event::StartFailed,
                           event::Ended, event::WaitOver, event::Cancelled>;

namespace effect {

struct Ask {};

struct AskToRetry {};

struct WithdrawQuestion {};

struct Start {
    Bounds bounds = Bounds::as_asked;
};

struct EndProgram {};

// What the program of the last attempt that ran has put out so far, and whether it has ended.
struct AnswerResult {
    std::optional<Error> trouble = {}; // why it could not be run again
};

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
    RetryRule retry = RetryRule::never;
    Bounds bounds = Bounds::as_asked;
    Error refusal = {};
};

Step begin(const Verdict& verdict);

Step on(const State& now, const Event& event);

// Would an end with these refusals lead to a second attempt, if it is allowed?
bool may_run_again(const State& now, Refusals refusals);

} // namespace ew::core::exec_call
