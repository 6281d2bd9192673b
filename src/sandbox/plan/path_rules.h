// The entries of a policy as places on this machine: one rule for each path, links resolved, globs
// expanded, special places found. The first half of a plan.
#pragma once

#include "base/result.h"
#include "sandbox/plan/resolved_path.h"
#include "sandbox/policy/guarantees.h"
#include "sandbox/policy/policy.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

struct PathRule {
    enum class State : std::uint8_t {
        unseen, // not there at all: the root, where nothing says that it can be read
        read,
        write,
        denied,
        own_tmp,       // empty and of the command's own, mode 1777
        own_directory, // the same with mode 0700
    };

    State state = State::unseen;
    ResolvedPath::Kind kind = ResolvedPath::Kind::directory;
    bool is_optional = false;  // where it is missing nothing is to be made or told
    bool is_temporary = false; // a place for temporary files: nothing is kept from being made there
    bool is_protection = false;           // of metadata: nobody named it
    bool is_found = false;                // a protection far from any root, by a search
    std::optional<std::string> file = {}; // content of the file that stands in where it is missing
};

// What of the policy cannot be kept on this machine, and the way out.
struct Loss {
    Guarantee guarantee = Guarantee::protected_paths;
    std::string message = {};
    std::string hint = {};
};

using RuleMap = std::map<std::string, PathRule, DepthFirst>;

struct PathRules {
    RuleMap at = {};
    std::vector<Link> links = {};            // that the paths of the policy lead through
    std::vector<std::string> workspace = {}; // the roots of it, and the directory of the command
    std::vector<std::string> notes = {};
    std::vector<Loss> losses = {}; // where they are not allowed there is no plan

    // What holds at a path: that of the nearest place at or above it.
    PathRule::State covering(const std::string& path) const;

    // Could what runs under these rules put something else at a path, a link for example?
    bool can_replace(const std::string& path) const;
};

// Errors: see make_plan.
Result<PathRules> rules_of(const Policy& policy, const Context& context);

// "what went wrong" as an error of make_plan.
Error unplannable(std::string message, std::string hint);

} // namespace ew::sandbox
