// `execward schema`: prints the protocol.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command schema_command;

} // namespace ew::cli
