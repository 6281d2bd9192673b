// The sizes that a terminal has had, and the positions in its output where each of them begins to
// count.
#pragma once

#include "base/clock.h"
#include "core/screen/cell.h"

#include <cstdint>
#include <deque>
#include <optional>

namespace ew::core {

class SizeHistory {
public:
    static constexpr std::size_t most = 256; // changes that are kept

    struct Change {
        std::uint64_t position;
        ScreenSize size;
        TimePoint at;
    };

    // `position` does not decrease. The last size at one position counts.
    void note(std::uint64_t position, ScreenSize size, TimePoint now);

    const std::deque<Change>& changes() const { return changes_; }

    // Returns nullopt before the first noted position.
    std::optional<ScreenSize> at(std::uint64_t position) const;

    // Returns the next position after this one where the size changes.
    std::optional<std::uint64_t> next_change(std::uint64_t position) const;

private:
    std::deque<Change> changes_;
};

} // namespace ew::core
