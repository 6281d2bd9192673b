#include "sandbox/plan/workspace_search.h"

#include "base/clock.h"
#include "core/text/paths.h"
#include "sandbox/plan/closing.h"
#include "sandbox/plan/pattern_rules.h"
#include "sandbox/walk/walk.h"
#include "sandbox/walk/walker.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace ew::sandbox {

namespace {

// How long a start walks before it closes what is left. A command that finds directories closed may
// fail in ways that nobody expects, so it is better to start late.
constexpr Millis first_wait{10'000};
constexpr Millis further_wait{2'000};     // if what is left cannot be closed
constexpr Millis longest_search{100'000}; // the start fails soon after that

bool is_in_one(const std::set<std::string>& directories, const std::string& path) {
    return std::ranges::any_of(directories, [&path](const std::string& directory) {
        return core::is_at_or_below(path, directory);
    });
}

// The directories that the command works in are no use if they are closed.
bool can_close_roots(const WalkOrder& order, const WalkFindings& found,
                     const std::vector<std::string>& kept_open) {
    std::map<std::string, std::vector<std::string>> left;
    for (const LeftOut& each : found.unsearched)
        if (each.is_in_root) left[innermost(order.roots, each.path)].push_back(each.path);
    return std::ranges::all_of(left, [&kept_open](const auto& of_root) {
        const std::set<std::string> closed = closing_for(of_root.first, of_root.second);
        return !closed.empty() &&
               std::ranges::none_of(kept_open, [&closed](const std::string& open) {
                   return is_in_one(closed, open);
               });
    });
}

bool can_hide(const WalkOrder& order, const WalkFindings& found,
              const std::vector<std::string>& kept_open) {
    for (std::uint32_t i = 0; i < order.patterns.size(); ++i)
        if (!hiding_for(found, i, order.patterns[i].base, kept_open).is_complete) return false;
    return true;
}

} // namespace

WalkFindings search_workspace(const WalkOrder& order, const std::vector<std::string>& kept_open,
                              int walker) {
    if (walker >= 0)
        if (std::optional<WalkFindings> kept = ask_walker(walker, order)) return std::move(*kept);
    const TimePoint begun = clock_now();
    const auto is_enough = [&](const WalkFindings& found) {
        if (clock_now() - begun > longest_search) return true;
        return can_close_roots(order, found, kept_open) && can_hide(order, found, kept_open);
    };
    Walk walk(order);
    for (Millis wait = first_wait;; wait = further_wait) {
        const bool is_done = walk.go_on(clock_now() + wait);
        WalkFindings found = walk.findings();
        if (is_done || is_enough(found)) return found;
    }
}

std::string innermost(const std::vector<std::string>& roots, const std::string& path) {
    for (std::string here = path;; here = core::parent_of(here)) {
        if (std::ranges::find(roots, here) != roots.end()) return here;
        if (here == "/") return {};
    }
}

} // namespace ew::sandbox
