// `execward project`: trusts the rules of a project, or stops trusting them.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command project_command;

} // namespace ew::cli
