#include "sandbox/rules.h"

#include "sandbox/globs.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace ew::sandbox {

namespace {

using State = Rule::State;

// What programs need to start, whatever they do.
constexpr std::array<std::string_view, 10> minimal_places = {
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix"};

State state_of(Access access) {
    switch (access) {
    case Access::read: return State::read;
    case Access::write: return State::write;
    case Access::deny: return State::denied;
    }
    return State::denied;
}

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

bool is_for_temporary_files(const std::string& path) {
    return path == "/tmp" || path == "/var/tmp" || path == "/dev/shm";
}

class Gathering {
public:
    Gathering(const Policy& policy, const Context& context) : policy_(policy), context_(context) {}

    Result<Rules> gather() {
        if (policy_.file_system == FileSystem::restricted) {
            for (const Entry& entry : policy_.entries)
                TRY(add(entry));
        } else {
            put("/", {State::write, Place::Kind::directory});
        }
        TRY(find_workspace());
        if (policy_.has_private_tmp) add_private_tmp();
        if (policy_.file_system == FileSystem::restricted) add_private_run();
        TRY(hide_our_own());
        return std::move(rules_);
    }

private:
    // Of two rules for one path the stronger one stays.
    void put(const std::string& path, const Rule& rule) {
        const auto [at, is_new] = rules_.at.try_emplace(path, rule);
        if (is_new) return;
        Rule& old = at->second;
        old.is_optional = old.is_optional && rule.is_optional;
        old.is_temporary = old.is_temporary || rule.is_temporary;
        if (strength(rule.state) > strength(old.state)) old.state = rule.state;
    }

    void remember_links(const std::string& path) {
        for (Link& link : links_on(path))
            rules_.links.push_back(std::move(link));
    }

    Result<void> add(const Entry& entry) {
        switch (entry.kind) {
        case Entry::Kind::path: return add_path(entry.path, entry);
        case Entry::Kind::glob: return add_glob(entry);
        case Entry::Kind::special: return add_special(entry);
        }
        return {};
    }

    Result<void> add_path(const std::string& path, const Entry& entry, bool is_temporary = false) {
        const Place place = locate(path);
        if (place.path != path) remember_links(path);
        return add_place(place, entry, is_temporary);
    }

    Result<void> add_place(const Place& place, const Entry& entry, bool is_temporary) {
        // /proc and /dev are made anew. Of /proc nothing can be granted or hidden; of /dev single
        // devices can be granted, and /dev/shm is a directory like any other.
        if (is_at_or_below(place.path, "/proc") || place.path == "/dev") {
            if (entry.access != Access::deny) return {};
            return cannot_mask(place.path, "the sandbox has one of its own");
        }
        const bool is_device =
            is_below(place.path, "/dev") && !is_at_or_below(place.path, "/dev/shm");
        if (is_device && (entry.access != Access::write || place.kind != Place::Kind::device))
            return {};
        Rule rule{state_of(entry.access), place.kind};
        rule.is_optional = entry.skip_if_missing;
        rule.is_temporary = is_temporary || is_for_temporary_files(place.path);
        put(place.path, rule);
        return {};
    }

    Result<void> add_special(const Entry& entry) {
        switch (entry.special) {
        case Special::root: return add_path(joined("/", entry.path), entry);
        case Special::minimal: return add_minimal(entry);
        case Special::project_roots: return add_below(context_.workspace_roots, entry);
        case Special::workspace:
            if (!context_.workspace_roots.empty())
                return add_below(context_.workspace_roots, entry);
            return add_below({context_.cwd}, entry);
        case Special::tmpdir: {
            if (!context_.tmpdir.starts_with('/')) return {};
            Entry optional = entry;
            optional.skip_if_missing = true;
            return add_path(joined(context_.tmpdir, entry.path), optional, true);
        }
        case Special::slash_tmp: return add_path(joined("/tmp", entry.path), entry, true);
        case Special::unknown: return {};
        }
        return {};
    }

    Result<void> add_minimal(Entry entry) {
        entry.skip_if_missing = true;
        for (const std::string_view place : minimal_places)
            TRY(add_path(std::string(place), entry));
        return {};
    }

    Result<void> add_below(const std::vector<std::string>& roots, const Entry& entry) {
        for (const std::string& root : roots)
            TRY(add_path(joined(root, entry.path), entry));
        return {};
    }

    Result<void> add_glob(const Entry& entry) {
        const std::vector<Glob> globs = TRY(parse_glob(entry.path));
        std::vector<std::string> bases = context_.workspace_roots;
        bases.push_back(context_.cwd);
        for (const Glob& glob : globs)
            TRY(add_matches(glob.base.empty() ? bases : std::vector{glob.base}, glob, entry));
        return {};
    }

    Result<void> add_matches(const std::vector<std::string>& bases, const Glob& glob,
                             const Entry& entry) {
        for (const std::string& base : bases)
            TRY(add_matches(base, glob, entry));
        return {};
    }

    // A tree that is hidden as a whole is hidden by its root: what is made in it later is too.
    Result<void> add_matches(const std::string& base, Glob glob, const Entry& entry) {
        while (!glob.parts.empty() && glob.parts.back() == "**" && entry.access == Access::deny)
            glob.parts.pop_back();
        Entry found = entry;
        found.skip_if_missing = true;
        if (glob.parts.empty()) return add_path(base, found);
        GlobBounds bounds;
        bounds.depth = policy_.glob_depth;
        const Place place = locate(base);
        if (place.kind != Place::Kind::directory) return {};
        const Expansion expansion = expand(place.path, glob.parts, bounds);
        for (const std::string& path : expansion.paths)
            TRY(add_place(locate_last(path), found, false));
        if (expansion.is_complete) return {};
        return cut_short(entry);
    }

    Result<void> cut_short(const Entry& entry) {
        std::string message = fmt::format(
            "the pattern '{}' has too much to look through or too many matches", entry.path);
        return lose(std::move(message),
                    entry.access == Access::deny ? Guarantee::deny_read
                                                 : Guarantee::protected_paths,
                    "begin it with a longer path without wildcards, or set a depth");
    }

    Result<void> cannot_mask(const std::string& path, std::string_view reason) {
        return lose(fmt::format("'{}' cannot be hidden: {}", path, reason), Guarantee::deny_read,
                    "take it out of the policy");
    }

    Result<void> lose(std::string message, Guarantee guarantee, std::string hint) {
        if (policy_.enforcement == Enforcement::require)
            return unplannable(std::move(message), std::move(hint));
        rules_.notes.push_back(std::move(message));
        rules_.missing.add(guarantee);
        return {};
    }

    Result<void> find_workspace() {
        std::vector<std::string> paths = context_.workspace_roots;
        paths.push_back(context_.cwd);
        for (const std::string& path : paths) {
            const Place place = locate(path);
            if (place.kind != Place::Kind::directory)
                return unplannable(fmt::format("'{}' is no directory that can be entered", path),
                                   "name one that exists as the directory of the command and as "
                                   "root of the workspace");
            if (place.path != path) remember_links(path);
            if (std::ranges::find(rules_.workspace, place.path) == rules_.workspace.end())
                rules_.workspace.push_back(place.path);
        }
        return {};
    }

    // What is named below it stays the machine's, as do the workspace and the directory of the
    // command; if one of these is /tmp itself, then only where the policy grants it.
    void add_private_tmp() {
        const Place tmp = locate("/tmp");
        if (tmp.kind != Place::Kind::directory) return;
        std::vector<std::pair<std::string, State>> shown;
        for (const std::string& path : rules_.workspace) {
            const State state = rules_.covering(path);
            if (is_below(path, tmp.path) && (state == State::read || state == State::write))
                shown.emplace_back(path, state);
        }
        rules_.at.try_emplace(tmp.path, Rule{State::own_tmp, Place::Kind::directory});
        for (const auto& [path, state] : shown)
            rules_.at.try_emplace(path, Rule{state, Place::Kind::directory});
    }

    // Sockets, keys and the like of whoever is logged in (file-hierarchy(7)). Root could reach
    // those of everybody.
    void add_private_run() {
        hide_run("/run/user/" + std::to_string(::geteuid()));
        if (::geteuid() != 0) return;

        struct CloseDirectory {
            void operator()(DIR* directory) const { ::closedir(directory); }
        };

        const std::unique_ptr<DIR, CloseDirectory> users(::opendir("/run/user"));
        if (!users) return;
        while (const dirent* entry = ::readdir(users.get()))
            if (entry->d_name[0] != '.') hide_run(std::string("/run/user/") + entry->d_name);
    }

    void hide_run(const std::string& path) {
        const Place place = locate(path);
        if (place.kind != Place::Kind::directory) return;
        for (std::string above = place.path; above != "/"; above = parent_of(above)) {
            const auto rule = rules_.at.find(above);
            if (rule == rules_.at.end()) continue;
            if (rule->second.state == State::read || rule->second.state == State::write) return;
        }
        rules_.at.try_emplace(place.path, Rule{State::own_directory, Place::Kind::directory});
    }

    Result<void> hide_our_own() {
        for (const std::string& path : context_.hidden) {
            if (!path.starts_with('/')) continue;
            const Place place = locate(path);
            if (place.kind == Place::Kind::unreachable) continue;
            for (const std::string& root : rules_.workspace)
                if (is_at_or_below(root, place.path))
                    return unplannable(
                        fmt::format("'{}' lies in '{}', which no sandbox may see", root, path),
                        "it holds execward's own settings and records; work elsewhere");
            for (auto rule = rules_.at.begin(); rule != rules_.at.end();)
                rule = is_at_or_below(rule->first, place.path) ? rules_.at.erase(rule)
                                                               : std::next(rule);
            Rule rule{State::denied, place.kind};
            rule.is_ours = true;
            rules_.at.emplace(place.path, rule);
        }
        return {};
    }

    const Policy& policy_;
    const Context& context_;
    Rules rules_;
};

} // namespace

Rule::State Rules::covering(const std::string& path) const {
    for (std::string here = path;; here = parent_of(here)) {
        const auto rule = at.find(here);
        if (rule != at.end()) return rule->second.state;
        if (here == "/") return State::unseen;
    }
}

Result<Rules> rules_of(const Policy& policy, const Context& context) {
    return Gathering(policy, context).gather();
}

Error unplannable(std::string message, std::string hint) {
    return {ErrorKind::sandbox_unavailable,
            fmt::format("the command was not run: {}", std::move(message)), std::move(hint)};
}

} // namespace ew::sandbox
