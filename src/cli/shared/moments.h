// Times and durations as a person writes them.
#pragma once

#include "store/types.h"

#include <optional>
#include <string_view>

namespace ew::cli {

// Converts "90m" to milliseconds: a number with s, m, h, d or w. Returns nullopt if the text is not
// a duration.
std::optional<store::UnixMs> duration_of(std::string_view text);

// Converts "90m" (before `now`), "2026-01-31" or "2026-01-31T09:30:00Z", both in UTC. Returns
// nullopt if the text is none of these.
std::optional<store::UnixMs> moment_of(std::string_view text, store::UnixMs now);

} // namespace ew::cli
