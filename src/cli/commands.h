// All subcommands, in the order in which help names them.
#pragma once

#include "cli/shared/options.h"

#include <span>

namespace ew::cli {

std::span<const Command* const> commands();

// The command that argv[1], or argv[1] and argv[2], name; nullptr if there is none.
const Command* find_command(int argc, char** argv);

} // namespace ew::cli
