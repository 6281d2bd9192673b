#include "server/exec/waits.h"

#include <utility>

namespace ew::server {

namespace {

std::optional<TimePoint> quiet_from(const Wait& wait, const Waits::Progress& progress) {
    if (!wait.terms.quiet_ms || progress.end_of_output <= wait.output_from) return std::nullopt;
    return deadline_after(progress.last_output, *wait.terms.quiet_ms);
}

std::optional<TimePoint> end_of(const Wait& wait, const Waits::Progress& progress) {
    if (progress.over_at) return progress.over_at;
    if (wait.watch && wait.watch->end()) return wait.since;
    return earlier(wait.deadline, quiet_from(wait, progress));
}

protocol::WaitEnd reason_of(const Wait& wait, const Waits::Progress& progress, TimePoint now) {
    using protocol::WaitEndReason;
    if (wait.watch && wait.watch->end()) return *wait.watch->end();
    if (progress.over_at) return {WaitEndReason::exit, {}};
    const bool is_quiet = is_due(quiet_from(wait, progress), now);
    return {is_quiet ? WaitEndReason::quiet : WaitEndReason::time, {}};
}

// Returns true, and notes why, if the wait is over.
bool is_over(Wait& wait, const Waits::Progress& progress, TimePoint now) {
    if (!is_due(end_of(wait, progress), now)) return false;
    if (wait.terms.until) wait.end = reason_of(wait, progress, now);
    return true;
}

} // namespace

bool Waits::is_over_for_call(const Progress& progress, TimePoint now) {
    if (!of_call_ || has_told_call_) return false;
    has_told_call_ = is_over(*of_call_, progress, now);
    return has_told_call_;
}

std::optional<Wait> Waits::take_for_call() {
    return std::exchange(of_call_, std::nullopt);
}

std::optional<WritersWait> Waits::take_at(std::size_t index) {
    if (index >= of_writers_.size()) return std::nullopt;
    WritersWait taken = std::move(of_writers_[index]);
    of_writers_.erase(of_writers_.begin() + static_cast<std::ptrdiff_t>(index));
    return taken;
}

std::optional<WritersWait> Waits::take_over(const Progress& progress, TimePoint now) {
    std::size_t at = 0;
    while (at < of_writers_.size() && !is_over(of_writers_[at].wait, progress, now))
        ++at;
    return take_at(at);
}

std::optional<WritersWait> Waits::take(const json::Id& request) {
    std::size_t at = 0;
    while (at < of_writers_.size() && of_writers_[at].reply.id() != request)
        ++at;
    return take_at(at);
}

std::optional<TimePoint> Waits::next_deadline(const Progress& progress) const {
    std::optional<TimePoint> next = progress.over_at ? std::nullopt : next_look();
    if (of_call_ && !has_told_call_) next = earlier(next, end_of(*of_call_, progress));
    for (const WritersWait& writer : of_writers_)
        next = earlier(next, end_of(writer.wait, progress));
    return next;
}

void Waits::look_at(const core::OutputLog& log) {
    if (of_call_) of_call_->look_at(log);
    for (WritersWait& writer : of_writers_)
        writer.wait.look_at(log);
}

std::optional<TimePoint> Waits::next_look() const {
    std::optional<TimePoint> next;
    if (of_call_ && !has_told_call_ && of_call_->watch) next = of_call_->watch->next_look();
    for (const WritersWait& writer : of_writers_)
        if (writer.wait.watch) next = earlier(next, writer.wait.watch->next_look());
    return next;
}

WantedLook Waits::wanted(TimePoint now) const {
    WantedLook wanted;
    if (!is_due(next_look(), now)) return wanted;
    const auto add = [&wanted](const Wait& wait) {
        wanted.ports |= wait.watch && wait.watch->wants_ports();
        wanted.input |= wait.watch && wait.watch->wants_input();
    };
    if (of_call_) add(*of_call_);
    for (const WritersWait& writer : of_writers_)
        add(writer.wait);
    return wanted;
}

void Waits::take(const UntilWatch::Look& look, TimePoint now) {
    if (of_call_ && of_call_->watch) of_call_->watch->take(look, now);
    for (WritersWait& writer : of_writers_)
        if (writer.wait.watch) writer.wait.watch->take(look, now);
}

void Waits::abandon(const Error& error) {
    of_call_.reset();
    for (WritersWait& writer : of_writers_)
        writer.reply.fail(error);
    of_writers_.clear();
}

} // namespace ew::server
