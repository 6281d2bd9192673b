// Writes settings that are tables or lists of tables as text.
#pragma once

#include "config/config.h"

#include <string>
#include <vector>

namespace ew::cli {

// As TOML: { NAME = "value" }.
std::string toml_of(const core::Variables& variables);

// As TOML: an array with one table on each line. Members with default values are left out.
std::string toml_of(const std::vector<config::Environment>& environments);

// As JSON, in full.
std::string json_of(const std::vector<config::Environment>& environments);

} // namespace ew::cli
