#include "core/screen/size_history.h"

namespace ew::core {

void SizeHistory::note(std::uint64_t position, ScreenSize size, TimePoint now) {
    if (!changes_.empty() && changes_.back().position == position) changes_.pop_back();
    changes_.push_back({position, size, now});
    if (changes_.size() > most) changes_.pop_front();
}

std::optional<ScreenSize> SizeHistory::at(std::uint64_t position) const {
    std::optional<ScreenSize> size;
    for (const Change& change : changes_)
        if (change.position <= position) size = change.size;
    return size;
}

std::optional<std::uint64_t> SizeHistory::next_change(std::uint64_t position) const {
    for (const Change& change : changes_)
        if (change.position > position) return change.position;
    return std::nullopt;
}

} // namespace ew::core
