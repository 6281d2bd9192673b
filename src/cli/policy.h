// `execward policy`: says what would happen to a command, and why.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command policy_command;

} // namespace ew::cli
