// Shows a transcript to a person: a line for each message, with the sender, the time and a summary.
#pragma once

#include "base/clock.h"
#include "transcript/format.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::transcript {

// `text` is what `steps` were parsed from. The result is safe for a terminal.
std::string listing(std::string_view text, const std::vector<Step>& steps);

// Returns the time in a comment of a recorder, "# +12.3 ms", in whole milliseconds. Returns nullopt
// for other lines.
std::optional<Millis> time_in_comment(std::string_view comment);

} // namespace ew::transcript
