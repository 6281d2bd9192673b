// One exec/command as a state machine: approve, start, wait, judge, ask again. It is pure: an event
// comes in, and the next state and its effects come out. exec_service carries the effects out.
//
//            allowed                    started              ended, or the wait is over
//   begin ─────────────▶ Starting ─────────────▶ Running ──────────────────────▶ Answered
//     │ must ask            ▲ ▲                    │ ended, the sandbox refused it something, may
//     ask ▼          approved   │ └─ allowed before ───┤
//   Asking ─────────────────┤                      ▼
//                           └─ approved ───── AskingToRetry
//
// A command that a person edits while it is asked about begins anew.
//
// Every path ends in Answered and has exactly one answer effect. A command runs again at most once.
#pragma once

#include "base/error.h"
#include "core/judgement/policy_types.h"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace ew::core::exec_call {

// The confinement of an attempt.
enum class Bounds : std::uint8_t {
    as_asked, // by the policy of the session and the permissions granted to the call
    widened,  // the same, and additionally allows the accesses that the sandbox refused
    none,
};

// The accesses that the sandbox refused to a failed program.
enum class Refusals : std::uint8_t { none, some, network };

// The refusals after which a person may be asked to run the command again.
enum class RetryRule : std::uint8_t { never, after_network, after_any };

RetryRule retry_rule(ApprovalPolicy policy, const GranularFlags& granular);

namespace state {

struct Asking {
    RetryRule retry = RetryRule::never;
    Bounds bounds = Bounds::as_asked; // the confinement after an approval
};

struct Starting {
    RetryRule retry = RetryRule::never;
    bool is_again = false; // an earlier attempt did run
};

struct Running {
    RetryRule retry = RetryRule::never;
};

struct AskingToRetry {};

struct Answered {};

} // namespace state

using State = std::variant<state::Asking, state::Starting, state::Running, state::AskingToRetry,
                           state::Answered>;

// How a call begins, according to the policy, the rules and remembered approvals.
struct Verdict {
    enum class Kind : std::uint8_t { run, ask, refuse };

    Kind kind = Kind::refuse;
    RetryRule retry = RetryRule::never;
    Bounds bounds = Bounds::as_asked;
    Error refusal = {};
};

namespace event {

struct Approved {
    Bounds again = Bounds::none; // the confinement after an approval of the second question
};

// Refused by a person, or because nobody could answer the question.
struct Refused {
    Error error = {};
};

// A person wrote another command in its place, which was judged.
struct Edited {
    Verdict verdict = {};
};

struct Started {};

struct StartFailed {
    Error error = {};
};

// The program has ended and its output is complete (or a descendant has held it open for too long).
struct Ended {
    Refusals refusals = Refusals::none;
    std::optional<Bounds> allowed = {}; // the confinement that an earlier approval allows
};

// The time that the caller wanted to wait is over.
struct WaitOver {};

struct Cancelled {
    bool ends_program = false;
};

} // namespace event

using Event = std::variant<event::Approved, event::Refused, event::Edited, event::Started,
                           event::StartFailed, event::Ended, event::WaitOver, event::Cancelled>;

namespace effect {

struct Ask {};

struct AskToRetry {};

struct WithdrawQuestion {};

struct Start {
    Bounds bounds = Bounds::as_asked;
};

struct EndProgram {};

// Answers with the output so far of the last attempt that ran, and with its end if it has ended.
struct AnswerResult {
    std::optional<Error> trouble = {}; // why the command could not run again
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

Step begin(const Verdict& verdict);

Step on(const State& now, const Event& event);

// Returns true if a program that ends with these refusals leads to a second attempt, provided it is
// allowed.
bool may_run_again(const State& now, Refusals refusals);

} // namespace ew::core::exec_call
