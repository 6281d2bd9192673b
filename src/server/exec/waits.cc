#include "server/exec/waits.h"

#include <utility>

namespace ew::server {

namespace {

std::optional<TimePoint> end_of(const Wait& wait, const Waits::Progress& progress) {
    if (progress.over_at) return progress.over_at;
    if (!wait.terms.quiet_ms || progress.end_of_output <= wait.output_from) return wait.deadline;
    return earlier(wait.deadline, deadline_after(progress.last_output, *wait.terms.quiet_ms));
}

} // namespace

bool Waits::is_over_for_call(const Progress& progress, TimePoint now) {
    if (!of_call_ || has_told_call_) return false;
    has_told_call_ = is_due(end_of(*of_call_, progress), now);
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
    while (at < of_writers_.size() && !is_due(end_of(of_writers_[at].wait, progress), now))
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
    std::optional<TimePoint> next;
    if (of_call_ && !has_told_call_) next = end_of(*of_call_, progress);
    for (const WritersWait& writer : of_writers_)
        next = earlier(next, end_of(writer.wait, progress));
    return next;
}

void Waits::look_at(const core::OutputLog& log) {
    if (of_call_) of_call_->view.look_at(log);
    for (WritersWait& writer : of_writers_)
        writer.wait.view.look_at(log);
}

void Waits::abandon(const Error& error) {
    of_call_.reset();
    for (WritersWait& writer : of_writers_)
        writer.reply.fail(error);
    of_writers_.clear();
}

} // namespace ew::server
