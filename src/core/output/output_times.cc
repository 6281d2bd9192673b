#include "core/output/output_times.h"

#include <algorithm>

namespace ew::core {

void OutputTimes::add(Mark mark, std::uint64_t oldest) {
    if (!marks_.empty() && marks_.back().position == mark.position) {
        marks_.back() = mark; // nothing but a part of a character has come since
        return;
    }
    if (marks_.size() >= most) make_room(oldest);
    marks_.push_back(mark);
}

// The output of a mark that goes counts as having come with the output before it.
void OutputTimes::make_room(std::uint64_t oldest) {
    const auto after = std::ranges::upper_bound(marks_, oldest, {}, &Mark::position);
    if (after > marks_.begin() + 1) marks_.erase(marks_.begin(), after - 1);
    if (marks_.size() <= most / 2) return;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < marks_.size(); i += 2)
        marks_[kept++] = marks_[i];
    marks_.resize(kept);
}

} // namespace ew::core
