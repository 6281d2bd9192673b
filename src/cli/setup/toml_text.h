// Settings that are more than a number, a word or a list of words, as text.
#pragma once

#include "config/config.h"

#include <string>
#include <vector>

namespace ew::cli {

// As TOML: { NAME = "value" }.
std::string toml_of(const core::Variables& variables);

// As TOML: an array of a table in each line, without what is as it would be anyway.
std::string toml_of(const std::vector<config::Environment>& environments);

// As JSON, in full.
std::string json_of(const std::vector<config::Environment>& environments);

} // namespace ew::cli
