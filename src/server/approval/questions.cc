#include "server/approval/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

Question* Questions::join(std::string_view key, std::uint64_t call) {
    const auto at = std::find_if(open_.begin(), open_.end(),
                                 [&](const Question& question) { return question.key == key; });
    if (at == open_.end()) return nullptr;
    at->calls.push_back(call);
    return &*at;
}

Question* Questions::open(std::string key, std::uint64_t call) {
    if (open_.size() >= most_open) return nullptr;
    Question& question = open_.emplace_back();
    question.id = fmt::format("{}-{}", prefix_, ++asked_);
    question.key = std::move(key);
    question.calls.push_back(call);
    return &question;
}

std::optional<Question> Questions::take_at(std::size_t index) {
    Question question = std::move(open_[index]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
    return question;
}

std::optional<Question> Questions::leave(std::uint64_t call) {
    for (std::size_t i = 0; i < open_.size(); ++i) {
        if (std::erase(open_[i].calls, call) == 0) continue;
        if (open_[i].calls.empty()) return take_at(i);
    }
    return std::nullopt;
}

std::optional<Question> Questions::take(std::string_view id) {
    for (std::size_t i = 0; i < open_.size(); ++i)
        if (open_[i].id == id) return take_at(i);
    return std::nullopt;
}

std::optional<Question> Questions::take_due(TimePoint now) {
    for (std::size_t i = 0; i < open_.size(); ++i)
        if (is_due(open_[i].deadline, now)) return take_at(i);
    return std::nullopt;
}

std::optional<Question> Questions::take_any() {
    if (open_.empty()) return std::nullopt;
    return take_at(0);
}

std::optional<TimePoint> Questions::next_deadline() const {
    std::optional<TimePoint> next;
    for (const Question& question : open_)
        next = earlier(next, question.deadline);
    return next;
}

} // namespace ew::server
