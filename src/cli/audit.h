// `execward audit`: shows the commands, the questions and the decisions that were recorded.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command audit_command;

} // namespace ew::cli
