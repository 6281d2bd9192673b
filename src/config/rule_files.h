// Loads the rules in force from all rules directories.
#pragma once

#include "core/judgement/rules.h"
#include "core/network/hosts.h"
#include "toml/toml.h"

#include <cstddef>
#include <string>
#include <vector>

namespace ew::config {

using RuleProblem = toml::Problem;

constexpr std::size_t longest_rule_file = toml::longest_text;
// The limits of each directory.
constexpr std::size_t most_rules = 10'000;
constexpr std::size_t most_rule_files = 1'000;
constexpr std::size_t most_rule_bytes = 16 << 20;

// Directories with rules in their *.toml files, which are read in the order of their names. A
// missing directory has no rules. An empty path means that there is none.
struct RulePlaces {
    std::string user_dir;    // $XDG_CONFIG_HOME/execward/rules.d
    std::string system_dir;  // /etc/execward/rules.d
    std::string project_dir; // PROJECT/.execward/rules.d of a trusted project
    // Directories where confined commands can write: no link of the user may lead there.
    std::vector<std::string> writable = {};
};

struct LoadedRules {
    core::RuleSet rules;
    std::vector<core::HostRule> hosts; // those of [[network]]; the same limits and trust count
    std::vector<RuleProblem> problems;
};

// Files that cannot be read or trusted become problems, and loading continues. Allow rules of the
// user count only if their file has no mistake, and if file and directory belong to root or this
// user, nobody else can write to them, and the directory is not a symlink. A file that is a symlink
// must lead to a place where neither other users nor confined commands can write. Prompt and forbid
// rules always count. Beyond a limit, the rest of the directory is skipped; if it is a directory of
// the user or the system, no rule allows anything any more. If a rule may be missing or incomplete
// for one of these reasons, `rules.gap` says so.
LoadedRules load_rules(const RulePlaces& places);

// Loads only these files, as rules of the user, whoever owns them.
LoadedRules load_rule_files(const std::vector<std::string>& files);

} // namespace ew::config
