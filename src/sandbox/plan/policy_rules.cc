#include "sandbox/plan/policy_rules.h"

#include "sandbox/plan/imposed_rules.h"
#include "sandbox/plan/known_roots.h"
#include "sandbox/plan/machine_entries.h"
#include "sandbox/plan/pattern_rules.h"
#include "sandbox/plan/search_order.h"
#include "sandbox/plan/temporary_places.h"
#include "sandbox/plan/workspace_search.h"
#include "sandbox/policy/glob.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace ew::sandbox {

namespace {

using State = PathRule::State;

// Directories that programs need to start.
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

// Such links in /proc mean something else in each process (proc(5)), as /proc/self/cwd does.
bool leads_through_processes(const Way& way) {
    const auto is_in_proc = [](const Link& link) { return is_below(link.path, "/proc"); };
    return std::ranges::any_of(way.links, is_in_proc) && !is_at_or_below(way.end, "/proc");
}

std::string of_processes(const std::string& path) {
    return fmt::format("'{}' leads through a link in /proc, which leads elsewhere in each process",
                       path);
}

constexpr const char* name_itself = "name the place itself";

class Gathering {
public:
    Gathering(const Policy& policy, const Context& context, int walker)
        : policy_(policy),
          context_(context),
          walker_(walker),
          roots_(context.known),
          order_(policy) {}

    Result<PathRules> gather() {
        if (policy_.file_system == FileSystem::restricted) {
            for (const Entry& entry : policy_.entries)
                TRY(add(entry));
            search();
            TRY(follow_links());
            tell_of_tmpdir();
        } else {
            rules_.put("/", {State::write, ResolvedPath::Kind::directory});
        }
        TRY(find_workspace());
        TRY(impose_rules(rules_, policy_, context_));
        rules_.roots = roots_.take_new();
        return std::move(rules_);
    }

private:
    // An entry whose path leads through links.
    struct Led {
        Entry entry = {};
        std::string path = {};
        ResolvedPath place = {};
        std::vector<Link> links = {};
        bool is_temporary = false;
    };

    Result<void> add(const Entry& entry) {
        switch (entry.kind) {
        case Entry::Kind::path: add_path(entry.path, entry); return {};
        case Entry::Kind::glob: return add_glob(entry);
        case Entry::Kind::special: add_special(entry); return {};
        }
        return {};
    }

    void add_path(const std::string& path, const Entry& entry, bool is_temporary = false) {
        const ResolvedPath place = locate(path);
        Way way = way_to(path);
        std::vector<Link>& links = way.links;
        if (entry.access != Access::deny && way.end != place.path &&
            place.kind != ResolvedPath::Kind::unreachable)
            return lose(
                Guarantee::fs_write,
                fmt::format("'{}' was exchanged for something else while it was looked at", path),
                "try again");
        if (leads_through_processes(way)) return leave_out(of_processes(path), name_itself, entry);
        if (entry.access == Access::write && !entry.is_granted && !roots_.agree(path, place))
            return leave_out(KnownRoots::changed(path), KnownRoots::hint, entry);
        rules_.links.insert(rules_.links.end(), links.begin(), links.end());
        if (links.empty() || entry.access == Access::deny)
            add_place(place, entry, is_temporary);
        else
            led_.push_back({entry, path, place, std::move(links), is_temporary});
    }

    void leave_out(std::string message, std::string hint, const Entry& entry) {
        std::optional<Guarantee> lost;
        if (entry.access == Access::deny) lost = Guarantee::deny_read;
        rules_.losses.push_back({lost, std::move(message), std::move(hint)});
    }

    // A link in a directory that the policy opens for writing may have been made by an earlier
    // command: its target gets no more rights than it has anyway.
    Result<void> follow_links() {
        const RuleMap direct = rules_.at;
        for (const Led& led : led_)
            add_place(led.place, led.entry, led.is_temporary);
        PathRules all;
        all.at = std::exchange(rules_.at, direct);
        std::vector<std::pair<const Led*, const Link*>> doubtful;
        for (const Led& led : led_) {
            const auto link = std::ranges::find_if(
                led.links, [&all](const Link& on_it) { return all.can_replace(on_it.path); });
            if (link != led.links.end())
                doubtful.emplace_back(&led, &*link);
            else
                add_place(led.place, led.entry, led.is_temporary);
        }
        for (const auto& [led, link] : doubtful)
            TRY(follow(*led, *link));
        return {};
    }

    Result<void> follow(const Led& led, const Link& link) {
        const State state = rules_.covering(led.place.path);
        const auto own = rules_.at.find(led.place.path);
        const bool is_denied = own != rules_.at.end() && own->second.state == State::denied;
        if (is_denied || (!led.place.exists() && led.entry.skip_if_missing)) return {};
        if (state == State::write || (state == State::read && led.entry.access == Access::read)) {
            add_place(led.place, led.entry, led.is_temporary);
            return {};
        }
        if (!led.is_temporary)
            return unplannable(
                fmt::format("'{}' leads through '{}', a link where the command may write, so "
                            "another command may have made it",
                            led.path, link.path),
                fmt::format("if '{}' is meant, name that; or take it out of the policy",
                            led.place.path));
        rules_.notes.push_back(
            fmt::format("'{}' is not writable: it leads through '{}', a link where the command may "
                        "write",
                        led.path, link.path));
        return {};
    }

    void add_place(const ResolvedPath& place, const Entry& entry, bool is_temporary) {
        // /proc and /dev are made anew. Nothing of /proc can be granted or hidden; devices below
        // /dev can be granted, and /dev/shm is an ordinary directory.
        if (is_at_or_below(place.path, "/proc") || place.path == "/dev") {
            if (entry.access == Access::deny)
                lose(Guarantee::deny_read,
                     fmt::format("'{}' cannot be hidden: the sandbox has one of its own",
                                 place.path),
                     "take it out of the policy");
            if (entry.access == Access::write)
                rules_.notes.push_back(fmt::format(
                    "'{}' is not writable: the sandbox has one of its own{}", place.path,
                    place.path == "/dev" ? "; name devices or directories below it" : ""));
            return;
        }
        if (is_below(place.path, "/dev") && !is_at_or_below(place.path, "/dev/shm"))
            return add_devices(place, entry);
        PathRule rule{state_of(entry.access), place.kind};
        rule.is_optional = entry.skip_if_missing;
        rule.is_temporary = is_temporary || is_for_temporary_files(place.path);
        rules_.put(place.path, rule);
    }

    // A directory stands for the devices below it.
    void add_devices(const ResolvedPath& place, const Entry& entry) {
        if (entry.access != Access::write) return;
        std::vector<std::string> devices;
        if (place.kind == ResolvedPath::Kind::device)
            devices.push_back(place.path);
        else if (place.kind == ResolvedPath::Kind::directory && place.path != "/dev/pts")
            devices = devices_below(place.path);
        for (const std::string& device : devices) {
            PathRule rule{State::write, ResolvedPath::Kind::device};
            rule.is_optional = entry.skip_if_missing;
            rules_.put(device, rule);
        }
        if (devices.empty() && !entry.skip_if_missing)
            rules_.notes.push_back(fmt::format(
                "'{}' is not writable: there is no device that a sandbox can have", place.path));
    }

    void add_special(const Entry& entry) {
        switch (entry.special) {
        case Special::root: return add_path(joined("/", entry.path), entry);
        case Special::minimal: return add_minimal(entry);
        case Special::project_roots: return add_below(context_.workspace_roots, entry);
        case Special::workspace:
            if (!context_.workspace_roots.empty())
                return add_below(context_.workspace_roots, entry);
            return add_below({context_.cwd}, entry);
        case Special::tmpdir: return add_tmpdir(entry);
        case Special::slash_tmp: return add_path(joined("/tmp", entry.path), entry, true);
        case Special::unknown: return;
        }
    }

    void add_tmpdir(Entry entry) {
        if (!context_.tmpdir.starts_with('/')) return;
        const std::string_view fault =
            entry.access == Access::write ? fault_of_tmpdir(context_) : std::string_view();
        if (!fault.empty()) {
            fault_of_tmpdir_ = fault;
            return;
        }
        entry.skip_if_missing = true;
        return add_path(joined(context_.tmpdir, entry.path), entry, true);
    }

    void tell_of_tmpdir() {
        if (fault_of_tmpdir_.empty()) return;
        if (rules_.covering(locate(context_.tmpdir).path) == State::write) return;
        rules_.notes.push_back(
            fmt::format("$TMPDIR, '{}', is not writable: {}", context_.tmpdir, fault_of_tmpdir_));
    }

    void add_minimal(Entry entry) {
        entry.skip_if_missing = true;
        for (const std::string_view place : minimal_places)
            add_path(std::string(place), entry);
    }

    void add_below(const std::vector<std::string>& roots, const Entry& entry) {
        for (const std::string& root : roots)
            add_path(joined(root, entry.path), entry);
    }

    Result<void> add_glob(const Entry& entry) {
        const std::vector<Glob> globs = TRY(parse_glob(entry.path));
        const std::vector<std::string> bases = workspace_of(context_);
        for (const Glob& glob : globs)
            for (const std::string& base : glob.base.empty() ? bases : std::vector{glob.base})
                add_pattern(base, glob, entry);
        return {};
    }

    // A tree that is hidden as a whole is hidden by its root, so files that are made in it later
    // are hidden too.
    void add_pattern(const std::string& base, Glob glob, const Entry& entry) {
        while (!glob.parts.empty() && glob.parts.back() == any_depth &&
               entry.access == Access::deny)
            glob.parts.pop_back();
        Entry found = entry;
        found.skip_if_missing = true;
        if (glob.parts.empty()) return add_path(base, found);
        found.is_granted = true; // what matches is looked for at each start, and is no root
        const ResolvedPath place = locate(base);
        if (place.kind != ResolvedPath::Kind::directory) return;
        WalkPattern pattern{place.path, std::move(glob.parts), policy_.glob_depth};
        if (entry.access != Access::deny) return add_matches(base, std::move(pattern), found);
        order_.hide(std::move(pattern), std::move(found));
    }

    // What a pattern opens is found before the search, which begins in what is open.
    void add_matches(const std::string& base, WalkPattern pattern, const Entry& entry) {
        const std::string place = pattern.base;
        WalkOrder order;
        order.patterns.push_back(std::move(pattern));
        const Hiding found = hiding_for(search_workspace(order, {}), 0, place, {});
        const std::size_t above = place == "/" ? 0 : place.size();
        for (const std::string& path : found.paths) // the links in the path count
            add_path(joined(base, path.substr(above + 1)), entry);
        if (entry.access == Access::read)
            for (const std::string& path : found.unclear)
                close_unclear(path, entry);
        if (!found.is_complete || !found.unsearched.empty()) cut_short(entry);
    }

    // One walk for all patterns that hide something, and for the repositories in all that may turn
    // out to be writable.
    void search() {
        order_.add_rules(rules_);
        for (const Led& led : led_)
            if (led.entry.access == Access::write) order_.add_root(led.place);
        std::vector<std::string> kept_open;
        for (const std::string& path : workspace_of(context_)) {
            const ResolvedPath place = locate(path);
            kept_open.push_back(place.path);
            if (rules_.covering("/") == State::write) order_.add_root(place);
        }
        const WalkOrder& order = order_.walk();
        if (order.roots.empty() && order.patterns.empty()) return;
        rules_.found = search_workspace(order, kept_open, walker_);
        rules_.searched = order.roots;
        for (std::uint32_t i = 0; i < order.patterns.size(); ++i)
            hide(hiding_for(rules_.found, i, order.patterns[i].base, kept_open), order_.entry(i));
    }

    void hide(const Hiding& hiding, const Entry& entry) {
        for (const std::string& path : hiding.paths)
            add_place(locate_last(path), entry, false);
        for (const std::string& path : hiding.unclear)
            close_unclear(path, entry);
        if (!hiding.unsearched.empty())
            rules_.notes.push_back(fmt::format(
                "'{}' cannot be read, and there may be more like it: it has too many directories "
                "in it to search all of them for '{}'{}",
                hiding.unsearched.front(), entry.path, rules_.found.is_late ? " in time" : ""));
        for (const std::string& path : hiding.unsearched)
            add_place(locate_last(path), entry, false);
        if (!hiding.is_complete) cut_short(entry);
    }

    // There may be matches in the directory. The sandbox has a /proc and a /dev of its own.
    void close_unclear(const std::string& path, const Entry& entry) {
        if (is_at_or_below(path, "/proc") || is_at_or_below(path, "/dev")) return;
        add_place(locate_last(path), entry, false);
        const std::string reason = fmt::format(
            "cannot be looked into, or has too much in it that '{}' matches", entry.path);
        const auto is_it = [&path](const std::string& root) { return locate(root).path == path; };
        if (std::ranges::any_of(workspace_of(context_), is_it))
            rules_.losses.push_back({std::nullopt, fmt::format("'{}' {}", path, reason),
                                     "make it readable, or name another pattern"});
        else if (std::exchange(last_unclear_, entry.path) != entry.path)
            rules_.notes.push_back(fmt::format(
                "'{}' {}, and there may be more like it: it {}", path,
                entry.access == Access::deny ? "cannot be read" : "is read-only", reason));
    }

    void cut_short(const Entry& entry) {
        lose(entry.access == Access::deny ? Guarantee::deny_read : Guarantee::protected_paths,
             fmt::format("the pattern '{}' has too much to look through or too many matches",
                         entry.path),
             "begin it with a longer path without wildcards, or set a depth");
    }

    void lose(Guarantee guarantee, std::string message, std::string hint) {
        rules_.losses.push_back({guarantee, std::move(message), std::move(hint)});
    }

    Result<void> find_workspace() {
        const std::vector<std::string> paths = workspace_of(context_);
        for (std::size_t i = 0; i < paths.size(); ++i) {
            const std::string& path = paths[i];
            const bool is_root = i < context_.workspace_roots.size();
            const ResolvedPath place = locate(path);
            if (place.kind != ResolvedPath::Kind::directory)
                return unplannable(fmt::format("'{}' is no directory that can be entered", path),
                                   "name one that exists as the directory of the command and as "
                                   "root of the workspace");
            Way way = way_to(path);
            if (way.end != place.path)
                return unplannable(fmt::format("'{}' was exchanged for something else while it was "
                                               "looked at",
                                               path),
                                   "try again");
            if (leads_through_processes(way)) return unplannable(of_processes(path), name_itself);
            if (is_root && !roots_.agree(path, place))
                return unplannable(KnownRoots::changed(path), KnownRoots::hint);
            for (Link& link : way.links)
                rules_.links.push_back(std::move(link));
            if (std::ranges::find(rules_.workspace, place.path) == rules_.workspace.end())
                rules_.workspace.push_back(place.path);
        }
        return {};
    }

    const Policy& policy_;
    const Context& context_;
    int walker_;
    PathRules rules_;
    KnownRoots roots_;
    std::vector<Led> led_;
    std::string_view fault_of_tmpdir_;
    SearchOrder order_;
    std::string last_unclear_; // the pattern of the last note of that kind
};

} // namespace

Result<PathRules> rules_of(const Policy& policy, const Context& context, int walker) {
    return Gathering(policy, context, walker).gather();
}

} // namespace ew::sandbox
