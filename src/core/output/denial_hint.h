// Guesses from the output of a sandboxed program whether the sandbox stopped it. Programs print
// these words for other reasons too, and print other words when they are stopped. The refusals that
// the sandbox itself reports are handled elsewhere; this guess never replaces or overrules them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ew::core {

// Returns nullopt if nothing suggests a refusal. Otherwise returns the first word found, in lower
// case regardless of its case in the text, or "exit 159" (128 and SIGSYS). The pieces form one
// text, in order: a word may begin in one piece and end in another.
std::optional<std::string_view> denial_hint(std::int64_t exit_code, bool is_sandboxed,
                                            std::span<const std::string_view> pieces);

inline std::optional<std::string_view> denial_hint(std::int64_t exit_code, bool is_sandboxed,
                                                   std::string_view text) {
    return denial_hint(exit_code, is_sandboxed, std::span(&text, 1));
}

} // namespace ew::core
