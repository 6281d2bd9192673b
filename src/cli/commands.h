// All subcommands, in the order in which help names them.
#pragma once

#include "cli/shared/options.h"

#include <span>

namespace ew::cli {

std::span<const Command* const> commands();

// Returns the command that argv[1], or argv[1] and argv[2], name, or nullptr if no command has that
// name.
const Command* find_command(int argc, char** argv);

} // namespace ew::cli
