// `execward replay`: shows a recorded session, or plays it against a server.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command replay_command;

} // namespace ew::cli
