#include "sandbox/plan/path_rules.h"

#include <fmt/format.h>

#include <utility>

namespace ew::sandbox {

namespace {

using State = PathRule::State;

int strength(State state) {
    switch (state) {
    case State::denied: return 3;
    case State::write: return 2;
    case State::read: return 1;
    case State::unseen:
    case State::own_tmp:
    case State::own_directory: return 0;
    }
    return 3;
}

} // namespace

void PathRules::put(const std::string& path, const PathRule& rule) {
    const auto [place, is_new] = at.try_emplace(path, rule);
    if (is_new) return;
    PathRule& old = place->second;
    old.is_optional = old.is_optional && rule.is_optional;
    old.is_temporary = old.is_temporary || rule.is_temporary;
    if (strength(rule.state) > strength(old.state)) old.state = rule.state;
}

PathRule::State PathRules::covering(const std::string& path) const {
    for (std::string here = path;; here = parent_of(here)) {
        const auto rule = at.find(here);
        if (rule != at.end()) return rule->second.state;
        if (here == "/") return State::unseen;
    }
}

bool PathRules::can_replace(const std::string& path) const {
    for (std::string here = path; here != "/"; here = parent_of(here)) {
        if (covering(parent_of(here)) != State::write) return false;
        if (making_of(here) != Making::impossible) return true;
    }
    return false;
}

Error unplannable(std::string message, std::string hint) {
    return {ErrorKind::sandbox_unavailable,
            fmt::format("the command was not run: {}", std::move(message)), std::move(hint)};
}

} // namespace ew::sandbox
