// The rules that are in force, from all the directories that hold some.
#pragma once

#include "core/judgement/rules.h"
#include "toml/toml.h"

#include <cstddef>
#include <string>
#include <vector>

namespace ew::config {

using RuleProblem = toml::Problem;

constexpr std::size_t longest_rule_file = toml::longest_text;
// Of each directory by itself.
constexpr std::size_t most_rules = 10'000;
constexpr std::size_t most_rule_files = 1'000;
constexpr std::size_t most_rule_bytes = 16 << 20;

// Directories whose files *.toml have rules; of each, read in the order of their names. One that
// does not exist has no rules. Empty: there is none.
struct RulePlaces {
    std::string user_dir;    // $XDG_CONFIG_HOME/execward/rules.d
    std::string system_dir;  // /etc/execward/rules.d
    std::string project_dir; // PROJECT/.execward/rules.d of a trusted project
};

struct LoadedRules {
    core::RuleSet rules;
    std::vector<RuleProblem> problems;
};

// What cannot be read, or cannot be trusted, is a problem, and everything else goes on. Allow rules
// of the user count only in files without a mistake, of root or of this user, that nobody else can
// write, in a directory that is no symbolic link and of which the same holds. Rules that prompt or
// forbid count from everywhere. Beyond a limit the rest of the directory is left out; if it is one
// of the user or the system, no rule allows anything any more. Whenever a rule may be missing for
// any of this, or may not be what was meant, `rules.gap` says so.
LoadedRules load_rules(const RulePlaces& places);

// These files and no others, as rules of the user, whoever they belong to.
LoadedRules load_rule_files(const std::vector<std::string>& files);

} // namespace ew::config
