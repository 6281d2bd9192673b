// Where a subcommand finds the settings, and where it keeps what it finds out.
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "config/paths.h"

#include <string>

namespace ew::cli {

// The environment variable, or "" if it is not set.
std::string variable(const char* name);

// The settings in the file of EXECWARD_CONFIG, which must exist, or else in the usual one.
Result<config::Config> settings_in_force(const config::Paths& paths);

// The state directory, or empty if it would be in a home that does not exist: as root it could be
// made, and nobody would look for anything there.
std::string state_place(const config::Paths& paths);

} // namespace ew::cli
