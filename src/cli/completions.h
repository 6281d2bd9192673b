// `execward completions`: what makes a shell complete the subcommands and their options.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command completions_command;

} // namespace ew::cli
