// The tables [[environments]] of config.toml: the places other than this machine where commands can
// run.
#pragma once

#include "config/config.h"
#include "toml/toml.h"

#include <string_view>
#include <vector>

namespace ew::config {

// `top` reads the whole file; `name` is the name of the tables in it. An environment with a mistake
// is still in the result, because other settings may name it; the mistake is in the problems.
std::vector<Environment> read_environments(toml::TableReader& top, std::string_view name,
                                           std::string_view file,
                                           std::vector<toml::Problem>& problems);

// Adds the variables of a table such as { NAME = "value" }. Reports mistakes to `reader`.
void read_variables(const toml::Table& table, toml::TableReader& reader, core::Variables& out);

} // namespace ew::config
