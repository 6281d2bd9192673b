#include "cli/shared/moments.h"

#include "cli/shared/options.h"

#include <array>
#include <ctime>
#include <string>

namespace ew::cli {

std::optional<store::UnixMs> duration_of(std::string_view text) {
    constexpr std::string_view units = "smhdw";
    constexpr std::array<store::UnixMs, 5> millis = {1000, 60'000, 3'600'000, 86'400'000,
                                                     604'800'000};
    constexpr std::int64_t most = 100'000; // in any unit
    const std::size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
    if (unit == std::string_view::npos) return std::nullopt;
    text.remove_suffix(1);
    const std::optional<std::int64_t> number = whole_number(text, 1, most);
    if (!number) return std::nullopt;
    return *number * millis[unit];
}

std::optional<store::UnixMs> moment_of(std::string_view text, store::UnixMs now) {
    if (const std::optional<store::UnixMs> duration = duration_of(text)) return now - *duration;
    const std::string whole(text);
    for (const char* const format : {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ", "%Y-%m-%d"}) {
        std::tm parts = {};
        const char* const end = ::strptime(whole.c_str(), format, &parts);
        if (end != nullptr && *end == '\0') return store::UnixMs{::timegm(&parts)} * 1000;
    }
    return std::nullopt;
}

} // namespace ew::cli
