// `execward replay`: plays a recorded session against a server.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command replay_command;

} // namespace ew::cli
