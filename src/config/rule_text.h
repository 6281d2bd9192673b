// The rules in one text. Pure: who wrote the text, and so what it may do, is told.
// What is wrong with it never loosens anything: a text with a mistake allows nothing.
#pragma once

#include "core/judgement/rules.h"
#include "toml/toml.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::config {

struct RuleSource {
    std::string file; // for origins and messages
    core::RuleLayer layer = core::RuleLayer::user;
    bool may_allow = true; // false: somebody else could have written it
};

struct RuleText {
    std::vector<core::PrefixRule> rules; // in the order of the text
    std::vector<core::HostExecutable> host_executables;
    std::vector<toml::Problem> problems; // at most a hundred, and one that says how many more
    // The first problem after which a rule may be missing or not what was meant. One that is
    // understood and has no effect is no mistake.
    std::optional<toml::Position> mistake;
};

// Allow rules are dropped, and a problem says why, when they are of the system or of a project.
// They are dropped as well when there is any problem with the text. Then what prompts and forbids
// still counts, as far as it can be read; a rule prompts whose decision cannot be read, or of whose
// prefix only the beginning can.
RuleText read_rules(std::string_view text, const RuleSource& source);

} // namespace ew::config
