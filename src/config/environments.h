// The tables [[environments]] of config.toml: where commands can run beside this machine.
#pragma once

#include "config/config.h"
#include "toml/toml.h"

#include <string_view>
#include <vector>

namespace ew::config {

// `top` reads the whole file; `name` is what the tables are called in it. One with a mistake is
// among the result all the same, for what names it; the mistake is among the problems.
std::vector<Environment> read_environments(toml::TableReader& top, std::string_view name,
                                           std::string_view file,
                                           std::vector<toml::Problem>& problems);

// Adds the variables of a table, as in { NAME = "value" }; `reader` is told what is wrong with it.
void read_variables(const toml::Table& table, toml::TableReader& reader, core::Variables& out);

} // namespace ew::config
