// `execward serve`: serves a client over stdin and stdout.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command serve_command;

} // namespace ew::cli
