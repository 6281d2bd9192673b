// `execward completions`: prints a script that makes a shell complete subcommands and options.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command completions_command;

} // namespace ew::cli
