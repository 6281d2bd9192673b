#include "sandbox/plan/protective_rules.h"

#include "core/output/utf8.h"
#include "sandbox/plan/closing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace ew::sandbox {

namespace {

using State = PathRule::State;

constexpr std::size_t most_found_mounts = 768; // bubblewrap's time is quadratic in them
constexpr std::size_t most_stand_ins = 112;    // of the 128 of a sandbox

} // namespace

ProtectiveRules::ProtectiveRules(PathRules& rules)
    : rules_(rules), mounts_left_(most_found_mounts), stand_ins_left_(most_stand_ins) {}

bool ProtectiveRules::is_writable(const std::string& path) const {
    return rules_.covering(path) == State::write;
}

bool ProtectiveRules::is_temporary(const std::string& path) const {
    return std::ranges::none_of(
        kept_, [&path](const std::string& root) { return is_at_or_below(path, root); });
}

void ProtectiveRules::add(const std::string& path, ResolvedPath::Kind kind,
                          std::optional<std::string> file) {
    if (!is_writable(path) || rules_.at.contains(path)) return;
    if (const std::string at = place_for(path); at != path) return close_whole(at);
    PathRule rule{State::read, kind};
    rule.is_protection = true;
    rule.is_temporary = is_temporary(path);
    if (kind == ResolvedPath::Kind::file) rule.file = std::move(file);
    rules_.at.try_emplace(path, std::move(rule));
}

void ProtectiveRules::hold(const std::string& path, std::optional<std::string> file) {
    if (!is_writable(path)) return;
    const Making making = making_of(path);
    if (making == Making::impossible) return;
    std::string above = parent_of(path);
    while (!exists(above))
        above = parent_of(above);
    // No placeholder can be made. Of a root, plan.cc tells that.
    if (making == Making::after_chmod && !is_root(above))
        return close(above,
                     "is the user's own and not writable, so what is missing in it cannot be "
                     "kept from being made");
    if (const std::string at = place_for(path); at != path) return close_whole(at);
    PathRule rule{State::read, ResolvedPath::Kind::missing};
    rule.is_protection = true;
    rule.file = std::move(file);
    if (rules_.at.try_emplace(path, std::move(rule)).second && stand_ins_left_ > 0)
        --stand_ins_left_;
}

void ProtectiveRules::close(const std::string& path, std::string_view reason) {
    if (!is_writable(path)) return;
    if (is_root(path)) return close_root(path, reason);
    if (reasons_.emplace(reason).second)
        tell(path, fmt::format("is read-only, and there may be more like it: it {}", reason));
    add(path, ResolvedPath::Kind::directory);
}

void ProtectiveRules::close_above(const std::string& root, const std::vector<std::string>& paths,
                                  std::string_view reason) {
    const std::set<std::string> closed = closing_for(root, paths);
    if (closed.empty()) return close(root, reason);
    for (const std::string& path : closed)
        close(path, reason);
}

void ProtectiveRules::tell(const std::string& path, std::string_view text) {
    std::string note = fmt::format("'{}' {}", core::shortened(path), text);
    if (std::ranges::find(rules_.notes, note) == rules_.notes.end())
        rules_.notes.push_back(std::move(note));
}

// Every directory between a writable root and a protected path in it becomes a mount (pin_above in
// plan.cc), so deep or numerous paths are protected by one mount nearer to the root. Returns
// `path`, or the directory above it that is to be read-only as a whole.
std::string ProtectiveRules::place_for(const std::string& path) {
    std::vector<std::string> chain = {path}; // inner before outer, without named paths
    for (std::string here = parent_of(path); !is_named(here); here = parent_of(here))
        chain.push_back(here);
    auto at = chain.begin();
    while (at->size() > longest_ruled && std::next(at) != chain.end())
        ++at;
    if (chain.end() - at > most_levels) at = chain.end() - most_levels;
    // When no mounts are left, it takes one: the outermost directory that is no mount yet.
    const auto known = [this](const std::string& here) { return ways_.contains(here); };
    const auto first_known = std::find_if(std::next(at), chain.end(), known);
    const auto cost = static_cast<std::size_t>(first_known - at);
    if (is_searching_ && cost > mounts_left_) at = std::prev(first_known);
    ways_.insert(std::next(at), first_known);
    if (is_searching_) mounts_left_ -= std::min(mounts_left_, cost);
    return std::move(*at);
}

bool ProtectiveRules::is_root(const std::string& path) const {
    if (rules_.at.contains(path)) return true;
    return is_writable("/") && std::ranges::find(rules_.workspace, path) != rules_.workspace.end();
}

bool ProtectiveRules::is_named(const std::string& path) const {
    return path == "/" || rules_.at.contains(path) ||
           std::ranges::find(rules_.workspace, path) != rules_.workspace.end();
}

void ProtectiveRules::close_whole(const std::string& path) {
    if (wholes_++ == 0)
        tell(path, "is read-only as a whole, and there may be more like it: what is protected in "
                   "it lies too far down, or is too much");
    PathRule rule{State::read, ResolvedPath::Kind::directory};
    rule.is_protection = true;
    rule.is_temporary = is_temporary(path);
    rules_.at.try_emplace(path, std::move(rule));
}

void ProtectiveRules::close_root(const std::string& root, std::string_view reason) {
    PathRule& rule = rules_.at[root];
    rule.state = State::read;
    rule.kind = ResolvedPath::Kind::directory;
    rules_.losses.push_back(
        {std::nullopt, fmt::format("'{}' {}", core::shortened(root), reason),
         "put that right outside of the sandbox, or name another root of the workspace, and no "
         "shared /tmp; with enforcement best-effort (--best-effort) all of it is read-only"});
}

} // namespace ew::sandbox
