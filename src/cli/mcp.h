// `execward mcp`: serves a client of the Model Context Protocol over stdin and stdout.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command mcp_command;

} // namespace ew::cli
