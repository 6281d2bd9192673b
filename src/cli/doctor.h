// `execward doctor`: says what this machine can enforce.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command doctor_command;

} // namespace ew::cli
