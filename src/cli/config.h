// `execward config`: shows every setting and where it comes from; sets up a client.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command config_command;

} // namespace ew::cli
