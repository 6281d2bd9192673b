// The subcommand report.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command report_command;

} // namespace ew::cli
