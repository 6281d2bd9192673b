// The rules of a plan: what a sandbox may do with each path and with all below it.
#pragma once

#include "base/result.h"
#include "os/known_directory.h"
#include "sandbox/plan/look_places.h"
#include "sandbox/plan/resolved_path.h"
#include "sandbox/policy/guarantees.h"
#include "sandbox/walk/walk_order.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

struct PathRule {
    enum class State : std::uint8_t {
        unseen, // not visible at all: the root, if no entry makes it readable
        read,
        write,
        denied,
        own_tmp,       // an empty directory of the command's own, mode 1777
        own_directory, // the same with mode 0700
    };

    State state = State::unseen;
    ResolvedPath::Kind kind = ResolvedPath::Kind::directory;
    bool is_optional = false;   // if it is missing, no placeholder is made and nothing is reported
    bool is_temporary = false;  // for temporary files: missing paths get no placeholder
    bool is_protection = false; // protects metadata: no entry of the policy names it
    std::optional<std::string> file = {}; // content of the placeholder file if the path is missing
};

// A part of the policy that cannot be kept on this machine, and the way out.
struct Loss {
    // nullopt: something was closed instead, so nothing is lost if the policy permits that
    std::optional<Guarantee> guarantee = Guarantee::protected_paths;
    std::string message = {};
    std::string hint = {};
};

using RuleMap = std::map<std::string, PathRule, DepthFirst>;

struct PathRules {
    RuleMap at = {};
    std::vector<Link> links = {};            // in the paths of the policy
    std::vector<std::string> workspace = {}; // the workspace roots and the directory of the command
    std::vector<std::string> notes = {};
    std::vector<Loss> losses = {}; // if the policy does not permit them, there is no plan
    LookPlaces look = {};
    std::vector<os::KnownDirectory> roots = {}; // see Plan
    // The search of the workspace: the roots in which it was for repositories, and its result.
    std::vector<std::string> searched = {};
    WalkFindings found = {};

    // Of two rules for one path the stronger one stays.
    void put(const std::string& path, const PathRule& rule);

    // The state of a path: that of the nearest rule at or above it.
    PathRule::State covering(const std::string& path) const;

    // Could a program under these rules replace the path, for example by a link?
    bool can_replace(const std::string& path) const;
};

// An error of make_plan with that message.
Error unplannable(std::string message, std::string hint);

} // namespace ew::sandbox
