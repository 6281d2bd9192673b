// Recorded sessions, for subcommands that show what terminals have printed.
#pragma once

#include "base/result.h"
#include "transcript/recorded_terminals.h"

#include <string>
#include <vector>

namespace ew::cli {

// Returns the terminals in a transcript. Errors: the file cannot be read, or is no transcript.
Result<std::vector<transcript::RecordedTerminal>> terminals_in(const std::string& file);

} // namespace ew::cli
