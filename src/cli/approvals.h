// `execward approvals`: lists, withdraws or adds approvals that hold for more than one command.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command approvals_command;

} // namespace ew::cli
