// Shows a transcript to a person: a line for each message, with the sender, the time and a summary.
#pragma once

#include "transcript/format.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::transcript {

// `text` is what `steps` were parsed from. The result is safe for a terminal.
std::string listing(std::string_view text, const std::vector<Step>& steps);

} // namespace ew::transcript
