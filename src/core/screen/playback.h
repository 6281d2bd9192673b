// A screen that follows the output of a program: it knows how far it has come, and takes over the
// sizes that the terminal had at each position.
#pragma once

#include "core/screen/screen.h"
#include "core/screen/size_history.h"

#include <cstdint>
#include <string_view>
#include <utility>

namespace ew::core {

class Playback {
public:
    Playback(Screen screen, std::uint64_t position)
        : screen_(std::move(screen)), position_(position) {}

    // `bytes` begin at position(). Returns true if it has come to their end: it stops where more
    // cells would change than one turn of the loop has time for.
    bool play(std::string_view bytes, const SizeHistory& sizes);

    // Output that is lost.
    void skip_to(std::uint64_t position) { position_ = position; }

    std::uint64_t position() const { return position_; }

    Screen& screen() { return screen_; }

    const Screen& screen() const { return screen_; }

private:
    Screen screen_;
    std::uint64_t position_;
};

// Returns where to begin in output whose beginning is lost: behind the first line end, or at the
// first escape sequence, so that no rest of a sequence is shown as text.
std::size_t first_whole(std::string_view bytes);

} // namespace ew::core
