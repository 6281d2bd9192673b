// `execward audit`: shows what was asked, decided and run.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

extern const Command audit_command;

} // namespace ew::cli
