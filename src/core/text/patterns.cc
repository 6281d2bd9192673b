#include "core/text/patterns.h"

namespace ew::core {

bool is_pattern(std::string_view text) {
    if (text.find_first_of("*?[") != std::string_view::npos) return true;
    const std::size_t open = text.find('{');
    if (open == std::string_view::npos) return false;
    const std::size_t comma = text.find(',', open);
    return comma != std::string_view::npos && text.find('}', comma) != std::string_view::npos;
}

std::string pattern_for(std::string_view path) {
    std::string result;
    for (const char c : path) {
        if (std::string_view("*?[{}\\").find(c) != std::string_view::npos) result.push_back('\\');
        result.push_back(c);
    }
    return result;
}

} // namespace ew::core
