// `execward screen`: the last screen of a recorded session.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command screen_command;

} // namespace ew::cli
