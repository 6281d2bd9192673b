#include "core/patch_call.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace ew::core::patch_call {

using namespace state; // NOLINT(google-build-using-namespace): the names of this file's subject

namespace {

constexpr std::string_view nothing_changed = "; no file was changed";

Error cancelled(std::string_view consequence) {
    return {ErrorKind::cancelled, fmt::format("the patch was cancelled{}", consequence)};
}

Step answered(Effect answer) {
    return {Answered{}, {std::move(answer)}};
}

Step not_begun(Error error) {
    return answered(effect::AnswerFailed{std::move(error), false});
}

Step withdrawn(Error error) {
    return {Answered{},
            {effect::WithdrawQuestion{}, effect::AnswerFailed{std::move(error), false}}};
}

Step interrupted(Error error) {
    return answered(effect::AnswerFailed{std::move(error), true});
}

Step tidy(Tidying outcome) {
    return {std::move(outcome), {effect::RemoveJournal{}}};
}

// The rows of the table. An event without a row is late and changes nothing.

Step row(const Checking& now, const event::Checked& checked) {
    if (now.cancelled) return not_begun(*now.cancelled);
    if (now.purpose == Purpose::check) return answered(effect::AnswerChecked{});
    if (checked.verdict.kind == Verdict::Kind::refuse) return not_begun(checked.verdict.refusal);
    if (now.ending) return not_begun(*now.ending);
    if (checked.verdict.kind == Verdict::Kind::ask) return {Asking{}, {effect::Ask{}}};
    return {Noting{}, {effect::Note{}}};
}

Step row(const Checking& now, const event::CheckFailed& failed) {
    return not_begun(now.cancelled.value_or(failed.error));
}

Step row(const Checking& now, const event::Cancelled&) {
    return {Checking{now.purpose, cancelled(nothing_changed), now.ending}, {effect::CallOff{}}};
}

Step row(const Checking& now, const event::Ending& ending) {
    return {Checking{now.purpose, now.cancelled, ending.error}, {}};
}

Step row(const Asking&, const event::Approved&) {
    return {Noting{}, {effect::Note{}}};
}

Step row(const Asking&, const event::Refused& refused) {
    return not_begun(refused.error);
}

Step row(const Asking&, const event::Cancelled&) {
    return withdrawn(cancelled(nothing_changed));
}

Step row(const Asking&, const event::Ending& ending) {
    return withdrawn(ending.error);
}

Step row(const Asking&, const event::Abandoned& abandoned) {
    return withdrawn(abandoned.error);
}

Step row(const Noting& now, const event::Noted&) {
    if (now.cancelled) return tidy({*now.cancelled, false});
    return {Applying{}, {effect::Apply{}}};
}

// The part of the journal that was written must be removed.
Step row(const Noting& now, const event::NoteFailed& failed) {
    return tidy({now.cancelled.value_or(failed.error), false});
}

Step row(const Noting&, const event::Cancelled&) {
    return {Noting{cancelled(nothing_changed)}, {}};
}

// A cancelled patch gets this, too: the cancellation came too late.
Step row(const Applying&, const event::Applied&) {
    return tidy({std::nullopt, true});
}

Step row(const Applying& now, const event::ApplyFailed& failed) {
    Error failure = now.cancelled.value_or(failed.error);
    if (failed.is_undone) return tidy({std::move(failure), true});
    return {Settling{std::move(failure)}, {effect::Settle{}}};
}

Step row(const Applying&, const event::Cancelled&) {
    return {Applying{cancelled("")}, {effect::CallOff{}}};
}

Step row(const Settling& now, const event::Settled& settled) {
    Error failure = now.failure;
    switch (settled.settlement) {
    case Settlement::applied: return answered(effect::AnswerApplied{});
    case Settlement::undone: failure.message += nothing_changed; break;
    case Settlement::unclear:
        failure.message +=
            fmt::format("; some files may be changed and others not: {}", settled.reason);
        failure.hint = "execward patch recover finishes or undoes it";
        break;
    }
    return interrupted(std::move(failure));
}

Step row(const Tidying& now, const event::Tidied&) {
    if (now.failure) return answered(effect::AnswerFailed{*now.failure, now.was_begun});
    return answered(effect::AnswerApplied{});
}

bool was_begun(const State& now) {
    if (const auto* const tidying = std::get_if<Tidying>(&now)) return tidying->was_begun;
    return std::holds_alternative<Applying>(now) || std::holds_alternative<Settling>(now);
}

// The journal stays: the next server finishes or undoes the patch.
template <class StateType>
Step row(const StateType& now, const event::Abandoned& abandoned) {
    return answered(effect::AnswerFailed{abandoned.error, was_begun(now)});
}

Step row(const Answered&, const event::Abandoned&) {
    return {Answered{}, {}};
}

template <class StateType, class EventType>
Step row(const StateType& now, const EventType&) {
    return {now, {}};
}

} // namespace

Step begin(Purpose purpose) {
    return {Checking{purpose}, {effect::Check{}}};
}

Step on(const State& now, const Event& event) {
    return std::visit([](const auto& s, const auto& e) { return row(s, e); }, now, event);
}

} // namespace ew::core::patch_call
