// A guess from what a sandboxed program printed that the sandbox stopped it. Programs print these
// words for other reasons too, and print others when they are stopped: what the sandbox is known to
// have refused is told elsewhere, and this never replaces or outvotes it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ew::core {

// Absent: nothing suggests it. Else the word that was found first, in lower case, whatever its case
// in the text, or "exit 159" (128 and SIGSYS). The pieces are one text, in order: a word may begin
// in one and end in another.
std::optional<std::string_view> denial_hint(std::int64_t exit_code, bool is_sandboxed,
                                            std::span<const std::string_view> pieces);

inline std::optional<std::string_view> denial_hint(std::int64_t exit_code, bool is_sandboxed,
                                                   std::string_view text) {
    return denial_hint(exit_code, is_sandboxed, std::span(&text, 1));
}

} // namespace ew::core
