// `execward approvals`: lists, withdraws or adds what was allowed for more than once.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command approvals_command;

} // namespace ew::cli
