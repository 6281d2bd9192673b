#include "sandbox/plan/imposed_rules.h"

#include "sandbox/plan/resolved_path.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace ew::sandbox {

namespace {

using State = PathRule::State;

// Paths below /tmp that a rule names stay the machine's, as do the workspace and the directory of
// the command. If the workspace or that directory is /tmp itself, it stays the machine's only where
// the policy grants it.
void add_private_tmp(PathRules& rules) {
    const ResolvedPath tmp = locate("/tmp");
    if (tmp.kind != ResolvedPath::Kind::directory) return;
    std::vector<std::pair<std::string, State>> shown;
    for (const std::string& path : rules.workspace) {
        const State state = rules.covering(path);
        if (is_below(path, tmp.path) && (state == State::read || state == State::write))
            shown.emplace_back(path, state);
    }
    rules.at.try_emplace(tmp.path, PathRule{State::own_tmp, ResolvedPath::Kind::directory});
    for (const auto& [path, state] : shown)
        rules.at.try_emplace(path, PathRule{state, ResolvedPath::Kind::directory});
}

// The directory holds sockets and keys of users who are logged in (file-hierarchy(7)). Its entries
// come and go with the logins, so all of it is hidden, and the user's own directory is made anew.
void add_private_run(PathRules& rules) {
    const ResolvedPath users = locate("/run/user");
    if (users.kind != ResolvedPath::Kind::directory) return;
    for (std::string above = users.path; above != "/"; above = parent_of(above)) {
        const auto rule = rules.at.find(above);
        if (rule == rules.at.end()) continue;
        if (rule->second.state == State::read || rule->second.state == State::write) return;
    }
    const PathRule own{State::own_directory, ResolvedPath::Kind::directory};
    rules.at.try_emplace(users.path, own);
    const std::string user = joined(users.path, std::to_string(::geteuid()));
    if (locate_last(user).kind == ResolvedPath::Kind::directory) rules.at.try_emplace(user, own);
}

// A writable link on the way to the path could lead the next start to another file.
Result<void> check_links(const PathRules& rules, const std::string& path) {
    for (const Link& link : way_to(path).links)
        if (rules.can_replace(link.path))
            return unplannable(
                fmt::format("'{}' is execward's own and leads through '{}', a link where the "
                            "command may write",
                            path, link.path),
                "put a directory in the place of the link, or name what is behind it "
                "(XDG_CONFIG_HOME, XDG_STATE_HOME); or work in a narrower workspace");
    return {};
}

Result<void> hide(PathRules& rules, const std::string& path) {
    if (!path.starts_with('/')) return {};
    TRY(check_links(rules, path));
    const ResolvedPath place = locate(path);
    for (const std::string& root : rules.workspace)
        if (is_at_or_below(root, place.path))
            return unplannable(
                fmt::format("'{}' lies in '{}', which no sandbox may see", root, path),
                "it holds execward's own settings and records; work elsewhere");
    for (auto rule = rules.at.begin(); rule != rules.at.end();)
        rule = is_at_or_below(rule->first, place.path) ? rules.at.erase(rule) : std::next(rule);
    rules.at.emplace(place.path, PathRule{State::denied, place.kind});
    return {};
}

Result<void> close(PathRules& rules, const std::string& path) {
    if (!path.starts_with('/')) return {};
    TRY(check_links(rules, path));
    const ResolvedPath place = locate(path);
    if (!place.exists() || rules.covering(place.path) != State::write) return {};
    for (auto& [at, rule] : rules.at)
        if (rule.state == State::write && is_at_or_below(at, place.path)) rule.state = State::read;
    rules.at.try_emplace(place.path, PathRule{State::read, place.kind});
    return {};
}

} // namespace

Result<void> impose_rules(PathRules& rules, const Policy& policy, const Context& context) {
    if (policy.has_private_tmp) add_private_tmp(rules);
    if (policy.file_system == FileSystem::restricted) add_private_run(rules);
    for (const std::string& path : context.hidden)
        TRY(hide(rules, path));
    for (const std::string& path : context.read_only)
        TRY(close(rules, path));
    return {};
}

} // namespace ew::sandbox
