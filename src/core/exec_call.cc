#include "core/exec_call.h"

#include <utility>

namespace ew::core::exec_call {

using namespace state; // NOLINT(google-build-using-namespace): the names of this file's subject

namespace {

Step answered(Effect answer) {
    return {Answered{}, {std::move(answer)}};
}

Step start(bool may_retry, Confinement confinement) {
    return {Starting{may_retry}, {effect::Start{confinement}}};
}

// The rows of the table. What has no row is late, and changes nothing.

Step row(const Asking& now, const event::Approved&, bool escalates) {
    return start(now.may_retry && !escalates,
                 escalates ? Confinement::none : Confinement::as_configured);
}

Step row(const Asking&, const event::Refused& refused, bool) {
    return answered(effect::AnswerRefused{refused.error});
}

Step row(const Asking&, const event::Cancelled&, bool) {
    return {Answered{}, {effect::WithdrawQuestion{}, effect::AnswerCancelled{false}}};
}

Step row(const Starting& now, const event::Started&, bool) {
    return {Running{now.may_retry}, {}};
}

Step row(const Starting&, const event::StartFailed& failed, bool) {
    return answered(effect::AnswerFailed{failed.error});
}

// There is nothing yet that could go on.
Step row(const Starting&, const event::Cancelled&, bool) {
    return {Answered{}, {effect::EndProgram{}, effect::AnswerCancelled{false}}};
}

Step row(const Running& now, const event::Ended& ended, bool) {
    if (ended.was_denied && now.may_retry) return {AskingToRetry{}, {effect::AskToRetry{}}};
    return answered(effect::AnswerResult{});
}

Step row(const Running&, const event::WaitOver&, bool) {
    return answered(effect::AnswerResult{});
}

Step row(const Running&, const event::Cancelled& cancelled, bool) {
    if (!cancelled.ends_program) return answered(effect::AnswerCancelled{true});
    return {Answered{}, {effect::EndProgram{}, effect::AnswerCancelled{false}}};
}

Step row(const AskingToRetry&, const event::Approved&, bool) {
    return start(false, Confinement::none);
}

// The first attempt did run: its result is the answer, with what it was stopped from doing.
Step row(const AskingToRetry&, const event::Refused&, bool) {
    return answered(effect::AnswerResult{});
}

Step row(const AskingToRetry&, const event::Cancelled&, bool) {
    return {Answered{}, {effect::WithdrawQuestion{}, effect::AnswerCancelled{false}}};
}

template <class StateType, class EventType>
Step row(const StateType& now, const EventType&, bool) {
    return {now, {}};
}

} // namespace

Step begin(const Verdict& verdict) {
    switch (verdict.kind) {
    case Verdict::Kind::run: return start(verdict.may_retry, verdict.confinement);
    case Verdict::Kind::ask: return {Asking{verdict.may_retry}, {effect::Ask{}}};
    case Verdict::Kind::refuse: break;
    }
    return answered(effect::AnswerRefused{verdict.refusal});
}

Step on(const State& now, const Event& event, bool escalates) {
    return std::visit([&](const auto& s, const auto& e) { return row(s, e, escalates); }, now,
                      event);
}

} // namespace ew::core::exec_call
