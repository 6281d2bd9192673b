#include "fuzz/scenes.h"

#include <algorithm>

namespace ew::fuzz {

std::vector<std::string> cut(std::string_view input) {
    constexpr std::size_t longest_piece = 31;
    std::vector<std::string> pieces;
    while (!input.empty()) {
        const std::size_t size = static_cast<unsigned char>(input.front()) % (longest_piece + 1);
        input.remove_prefix(1);
        pieces.emplace_back(input.substr(0, size));
        input.remove_prefix(std::min(size, input.size()));
    }
    return pieces;
}

} // namespace ew::fuzz
