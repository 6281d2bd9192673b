// `execward config init`: prints the settings that make a client start execward, or writes them.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command config_init_command;

} // namespace ew::cli
