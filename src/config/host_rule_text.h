// Reads a [[network]] table of a file of rules: a host, its ports, and what is decided about them.
#pragma once

#include "config/rule_text.h"
#include "core/network/hosts.h"
#include "toml/toml.h"

#include <optional>
#include <string>
#include <vector>

namespace ew::config {

// Complains in `problems`. Returns nullopt if the host cannot be read. A rule with another mistake
// prompts or forbids as far as it can be read; its file allows nothing then (read_rules()).
// `origin`: see core::HostRule.
std::optional<core::HostRule> read_host_rule(const toml::Table& table, const RuleSource& source,
                                             std::string origin,
                                             std::vector<toml::Problem>& problems);

} // namespace ew::config
