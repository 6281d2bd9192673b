// `execward run`: runs one command in a sandbox.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command run_command;

} // namespace ew::cli
