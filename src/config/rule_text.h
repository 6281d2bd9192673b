// Reads the rules in one text. Pure: the caller says who wrote the text, and so what its rules may
// do. A mistake never makes rules more permissive: a text with a mistake allows nothing.
#pragma once

#include "core/judgement/rules.h"
#include "core/network/hosts.h"
#include "toml/toml.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::config {

struct RuleSource {
    std::string file; // the name in origins and messages
    core::RuleLayer layer = core::RuleLayer::user;
    bool may_allow = true; // false if another user could have written it
};

struct RuleText {
    std::vector<core::PrefixRule> rules; // in the order of the text
    std::vector<core::HostExecutable> host_executables;
    std::vector<core::HostRule> hosts;   // in the order of the text
    std::vector<toml::Problem> problems; // at most a hundred, then one that counts the rest
    // The place of the first problem that may have lost or changed a rule. A rule that is
    // understood but has no effect is not a mistake.
    std::optional<toml::Position> mistake;
};

// Drops allow rules of the system or of a project, and adds a problem that says why. Also drops
// allow rules if the text has any problem. Prompt and forbid rules still count as far as they can
// be read. A rule prompts if its decision cannot be read, or if only the beginning of its prefix
// can.
RuleText read_rules(std::string_view text, const RuleSource& source);

} // namespace ew::config
