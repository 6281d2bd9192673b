// `execward patch`: applies a patch as a whole or not at all.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command patch_command;

} // namespace ew::cli
