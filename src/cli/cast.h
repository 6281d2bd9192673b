// `execward cast`: makes an asciicast of a recorded session.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command cast_command;

} // namespace ew::cli
