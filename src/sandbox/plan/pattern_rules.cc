#include "sandbox/plan/pattern_rules.h"

#include "core/text/paths.h"
#include "sandbox/plan/closing.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::size_t most_in_one = 64; // matches in one directory, if there are too many in all

std::vector<std::string> with(std::uint32_t pattern, const std::vector<LeftOut>& all) {
    std::vector<std::string> paths;
    for (const LeftOut& each : all)
        if (std::ranges::find(each.patterns, pattern) != each.patterns.end())
            paths.push_back(each.path);
    return paths;
}

// If there are too many matches, those directories go in their place that have the most of them.
void gather_crowded(Hiding& hiding, const std::string& base) {
    if (hiding.paths.size() <= most_matches) return;
    std::map<std::string, std::size_t> counts;
    for (const std::string& path : hiding.paths)
        ++counts[core::parent_of(path)];
    std::erase_if(hiding.paths, [&](const std::string& path) {
        const std::string above = core::parent_of(path);
        return above != base && counts[above] > most_in_one;
    });
    for (const auto& [directory, count] : counts)
        if (directory != base && count > most_in_one) hiding.unclear.push_back(directory);
}

// All that is to be hidden goes with directories above it.
void gather_all(Hiding& hiding, const std::string& base,
                const std::vector<std::string>& kept_open) {
    std::vector<std::string> all = hiding.paths;
    all.insert(all.end(), hiding.unclear.begin(), hiding.unclear.end());
    const std::set<std::string> closed = closing_for(base, all, kept_open);
    hiding.is_complete = !closed.empty();
    hiding.paths.resize(hiding.is_complete ? 0 : std::min(hiding.paths.size(), most_matches));
    hiding.unclear.resize(std::min(hiding.unclear.size(), most_matches));
    if (closed.empty()) return;
    hiding.unclear.assign(closed.begin(), closed.end());
}

} // namespace

Hiding hiding_for(const WalkFindings& found, std::uint32_t pattern, const std::string& base,
                  const std::vector<std::string>& kept_open) {
    Hiding hiding;
    hiding.paths = found.matches[pattern];
    // Each directory on the way to a hidden one becomes a mount.
    std::set<std::string> unreadable;
    for (std::string& path : with(pattern, found.unreadable))
        unreadable.insert(near_enough(base, std::move(path)));
    hiding.unclear.assign(unreadable.begin(), unreadable.end());
    gather_crowded(hiding, base);
    if (hiding.paths.size() + hiding.unclear.size() > most_matches)
        gather_all(hiding, base, kept_open);
    const std::vector<std::string> unsearched = with(pattern, found.unsearched);
    if (unsearched.empty()) return hiding;
    const std::set<std::string> closed = closing_for(base, unsearched, kept_open);
    hiding.unsearched.assign(closed.begin(), closed.end());
    hiding.is_complete = hiding.is_complete && !closed.empty();
    return hiding;
}

} // namespace ew::sandbox
