// `execward policy suggest`: rules found in what a person allowed again and again.
#pragma once

#include "cli/shared/options.h"

namespace ew::cli {

// Prints the rules. With --write, asks the person at the terminal, and adds them.
int suggest_rules(const Arguments& arguments);

} // namespace ew::cli
