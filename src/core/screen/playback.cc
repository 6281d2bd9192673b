#include "core/screen/playback.h"

#include <algorithm>

namespace ew::core {

bool Playback::play(std::string_view bytes, const SizeHistory& sizes) {
    for (;;) {
        if (const std::optional<ScreenSize> size = sizes.at(position_)) screen_.resize(*size);
        if (bytes.empty()) return true;
        std::size_t count = bytes.size();
        if (const std::optional<std::uint64_t> change = sizes.next_change(position_))
            count = static_cast<std::size_t>(std::min<std::uint64_t>(count, *change - position_));
        const std::size_t taken = screen_.feed(bytes.substr(0, count));
        position_ += taken;
        bytes.remove_prefix(taken);
        if (taken < count) return false;
    }
}

std::size_t first_whole(std::string_view bytes) {
    constexpr std::size_t most = 4096; // a longer line is cut
    const std::size_t at = bytes.substr(0, most).find_first_of("\n\x1b");
    if (at == std::string_view::npos) return 0;
    return bytes[at] == '\n' ? at + 1 : at;
}

} // namespace ew::core
