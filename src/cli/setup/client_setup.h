// `execward config init`: what to put where so that a client starts execward.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command config_init_command;

} // namespace ew::cli
