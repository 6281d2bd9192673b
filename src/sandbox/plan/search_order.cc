#include "sandbox/plan/search_order.h"

#include "sandbox/policy/glob.h"

#include <algorithm>
#include <utility>

namespace ew::sandbox {

std::vector<std::string> workspace_of(const Context& context) {
    std::vector<std::string> paths = context.workspace_roots;
    paths.push_back(context.cwd);
    return paths;
}

void SearchOrder::hide(WalkPattern pattern, Entry entry) {
    // A pattern that matches at any depth of a directory does so in those below it.
    const auto has_it = [&pattern](const WalkPattern& other) {
        if (pattern.parts != other.parts || pattern.depth != other.depth) return false;
        return pattern.base == other.base || (is_below(pattern.base, other.base) &&
                                              !pattern.depth && pattern.parts.front() == any_depth);
    };
    if (std::ranges::any_of(walk_.patterns, has_it)) return;
    walk_.patterns.push_back(std::move(pattern));
    entries_.push_back(std::move(entry));
}

void SearchOrder::add_rules(const PathRules& rules) {
    for (const auto& [path, rule] : rules.at)
        if (rule.state != PathRule::State::write)
            walk_.closed.push_back(path);
        else if (path != "/")
            add_root({path, rule.kind});
    // Where all is writable: the sandbox has its own of these, or shows them read-only.
    for (const char* const place : {"/dev", "/proc", "/sys"})
        walk_.closed.emplace_back(place);
}

void SearchOrder::add_root(const ResolvedPath& place) {
    if (place.kind != ResolvedPath::Kind::directory || !seeks_repositories_) return;
    if (std::ranges::find(walk_.roots, place.path) == walk_.roots.end())
        walk_.roots.push_back(place.path);
}

} // namespace ew::sandbox
