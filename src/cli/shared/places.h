// Where a subcommand finds the settings and keeps its state.
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "config/paths.h"

#include <string>

namespace ew::cli {

// Returns the environment variable, or "" if it is not set.
std::string variable(const char* name);

// Reads the settings from the file in EXECWARD_CONFIG, which must exist, or else from the usual
// file.
Result<config::Config> settings_in_force(const config::Paths& paths);

// Returns the state directory. Returns an empty text if it would be in a home that does not exist:
// root could create that home, but nobody would look for anything in it.
std::string state_place(const config::Paths& paths);

} // namespace ew::cli
