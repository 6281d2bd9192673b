// When the output of a program came, in steps of some milliseconds, so that it can be played.
// Bounded: when there are too many marks, the older ones become coarser.
#pragma once

#include "base/clock.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ew::core {

class OutputTimes {
public:
    // How long output counts as having come at one time.
    static constexpr Millis step{10};
    static constexpr std::size_t most = 4096; // marks that are kept

    // The output from this position on, up to the next mark, came at this time.
    struct Mark {
        std::uint64_t position = 0;
        TimePoint at = {};
    };

    // Output that begins at `position` comes now. The bytes before `oldest` are not kept, and their
    // marks may go.
    void note(std::uint64_t position, std::uint64_t oldest, TimePoint now) {
        if (marks_.empty() || now - marks_.back().at >= step) add({position, now}, oldest);
    }

    const std::vector<Mark>& marks() const { return marks_; }

private:
    void add(Mark mark, std::uint64_t oldest);
    void make_room(std::uint64_t oldest);

    std::vector<Mark> marks_; // in the order of their positions
};

} // namespace ew::core
