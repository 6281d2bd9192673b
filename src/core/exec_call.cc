#include "core/exec_call.h"

#include <utility>

namespace ew::core::exec_call {

using namespace state; // NOLINT(google-build-using-namespace): the names of this file's subject

namespace {

Step answered(Effect answer) {
    return {Answered{}, {std::move(answer)}};
}

// An unconfined program cannot be stopped by a sandbox, so there is no retry.
Step start(RetryRule retry, Bounds bounds) {
    if (bounds == Bounds::none) retry = RetryRule::never;
    return {Starting{retry}, {effect::Start{bounds}}};
}

Step start_again(Bounds bounds) {
    return {Starting{RetryRule::never, true}, {effect::Start{bounds}}};
}

bool covers(RetryRule retry, Refusals refusals) {
    switch (retry) {
    case RetryRule::never: return false;
    case RetryRule::after_network: return refusals == Refusals::network;
    case RetryRule::after_any: return refusals != Refusals::none;
    }
    return false;
}

// The rows of the transition table. An event without a row came too late and changes nothing.

Step row(const Asking& now, const event::Approved&) {
    return start(now.retry, now.bounds);
}

Step row(const Asking&, const event::Refused& refused) {
    return answered(effect::AnswerRefused{refused.error});
}

Step row(const Asking&, const event::Edited& edited) {
    return begin(edited.verdict);
}

Step row(const Asking&, const event::Cancelled&) {
    return {Answered{}, {effect::WithdrawQuestion{}, effect::AnswerCancelled{false}}};
}

Step row(const Starting& now, const event::Started&) {
    return {Running{now.retry}, {}};
}

// A program that did not start because its sandbox is unavailable counts as refused.
Step row(const Starting& now, const event::StartFailed& failed) {
    if (now.is_again) return answered(effect::AnswerResult{failed.error});
    if (failed.error.kind == ErrorKind::sandbox_unavailable)
        return answered(effect::AnswerRefused{failed.error});
    return answered(effect::AnswerFailed{failed.error});
}

// Nothing runs yet, so no process continues.
Step row(const Starting&, const event::Cancelled&) {
    return {Answered{}, {effect::EndProgram{}, effect::AnswerCancelled{false}}};
}

Step row(const Running& now, const event::Ended& ended) {
    if (!covers(now.retry, ended.refusals)) return answered(effect::AnswerResult{});
    if (ended.allowed) return start_again(*ended.allowed);
    return {AskingToRetry{}, {effect::AskToRetry{}}};
}

Step row(const Running&, const event::WaitOver&) {
    return answered(effect::AnswerResult{});
}

Step row(const Running&, const event::Cancelled& cancelled) {
    if (!cancelled.ends_program) return answered(effect::AnswerCancelled{true});
    return {Answered{}, {effect::EndProgram{}, effect::AnswerCancelled{false}}};
}

Step row(const AskingToRetry&, const event::Approved& approved) {
    return start_again(approved.again);
}

// The first attempt did run: answer with its result and the sandbox's refusals.
Step row(const AskingToRetry&, const event::Refused&) {
    return answered(effect::AnswerResult{});
}

Step row(const AskingToRetry&, const event::Cancelled&) {
    return {Answered{}, {effect::WithdrawQuestion{}, effect::AnswerCancelled{false}}};
}

template <class StateType, class EventType>
Step row(const StateType& now, const EventType&) {
    return {now, {}};
}

} // namespace

RetryRule retry_rule(ApprovalPolicy policy, const GranularFlags& granular) {
    switch (policy) {
    case ApprovalPolicy::untrusted:
    case ApprovalPolicy::on_failure: return RetryRule::after_any;
    case ApprovalPolicy::on_request: return RetryRule::after_network;
    case ApprovalPolicy::granular:
        return granular.sandbox_approval ? RetryRule::after_any : RetryRule::never;
    case ApprovalPolicy::never: return RetryRule::never;
    }
    return RetryRule::never;
}

Step begin(const Verdict& verdict) {
    switch (verdict.kind) {
    case Verdict::Kind::run: return start(verdict.retry, verdict.bounds);
    case Verdict::Kind::ask: return {Asking{verdict.retry, verdict.bounds}, {effect::Ask{}}};
    case Verdict::Kind::refuse: break;
    }
    return answered(effect::AnswerRefused{verdict.refusal});
}

Step on(const State& now, const Event& event) {
    return std::visit([](const auto& s, const auto& e) { return row(s, e); }, now, event);
}

bool may_run_again(const State& now, Refusals refusals) {
    const auto* const running = std::get_if<Running>(&now);
    return running != nullptr && covers(running->retry, refusals);
}

} // namespace ew::core::exec_call
