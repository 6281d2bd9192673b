#include "sandbox/plan/plan.h"

#include "os/directory.h"
#include "sandbox/plan/host_files.h"
#include "sandbox/plan/policy_rules.h"
#include "sandbox/plan/protection.h"
#include "sandbox/plan/resolved_path.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <utility>

namespace ew::sandbox {

namespace {

using State = PathRule::State;
using Kind = Mount::Kind;

bool has_size(const std::string& path, std::size_t size) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 && static_cast<std::size_t>(status.st_size) == size;
}

class Planning {
public:
    Planning(const Policy& policy, PathRules rules) : policy_(policy), rules_(std::move(rules)) {}

    Result<Plan> plan() {
        plan_.has_own_network = policy_.network != Network::enabled;
        plan_.has_hosts = policy_.network == Network::hosts;
        if (plan_.has_hosts) plan_.own_files = host_files();
        plan_.keeps_writes = policy_.keeps_writes;
        const State root = rules_.covering("/");
        plan_.reads_root = root == State::read || root == State::write;
        for (const auto& [path, rule] : rules_.at) {
            while (!above_.empty() && !is_below(path, above_.back().path))
                above_.pop_back();
            place(path, rule);
        }
        place_links();
        for (auto& [path, mount] : mounts_)
            plan_.mounts.push_back({mount.kind, path, std::move(mount.target)});
        plan_.notes = std::move(rules_.notes);
        plan_.roots = std::move(rules_.roots);
        plan_.notes.insert(plan_.notes.end(), notes_.begin(), notes_.end());
        take_look();
        TRY(lose_what_is_lost());
        return std::move(plan_);
    }

private:
    Result<void> lose_what_is_lost() {
        for (Loss& loss : rules_.losses) {
            if (policy_.enforcement == Enforcement::require)
                return unplannable(std::move(loss.message), std::move(loss.hint));
            if (loss.guarantee) plan_.missing.add(*loss.guarantee);
            plan_.notes.push_back(std::move(loss.message));
        }
        return {};
    }

    void take_look() {
        if (rules_.look.roots.empty()) return;
        plan_.look = std::move(rules_.look);
        const std::vector<std::string>& roots = plan_.look.roots;
        for (const auto& [path, rule] : rules_.at) {
            if (rule.state != State::read && rule.state != State::denied) continue;
            // Harmless changes of protected settings are carried out: see settings_change.h.
            if (rule.is_protection && rule.kind != ResolvedPath::Kind::directory) continue;
            const auto holds = [&path = path](const std::string& root) {
                return is_at_or_below(path, root);
            };
            if (std::ranges::any_of(roots, holds)) plan_.look.closed.push_back(path);
        }
    }

    struct Above {
        std::string path;
        State state = State::unseen;
    };

    State around() const { return above_.empty() ? State::unseen : above_.back().state; }

    void enter(const std::string& path, State state) { above_.push_back({path, state}); }

    void mount(const std::string& path, Kind kind) {
        mounts_.insert_or_assign(path, Planned{kind});
    }

    void place(const std::string& path, const PathRule& rule) {
        if (path == "/") {
            if (rule.state == State::write) mount(path, Kind::writable);
            if (rule.state == State::write) plan_.writable.push_back(path);
            enter(path, rule.state == State::denied ? State::unseen : rule.state);
            return;
        }
        // The sandbox's own /proc must not become the machine's; no entry grants anything there.
        if (is_at_or_below(path, "/proc")) return;
        switch (rule.state) {
        case State::write: return place_writable(path, rule);
        case State::read: return place_read_only(path, rule);
        case State::denied: return place_hidden(path, rule);
        case State::own_tmp: return place_own(path, Kind::private_tmp, rule.state);
        case State::own_directory: return place_own(path, Kind::private_directory, rule.state);
        case State::unseen: return;
        }
    }

    void place_writable(const std::string& path, const PathRule& rule) {
        if (rule.kind == ResolvedPath::Kind::missing ||
            rule.kind == ResolvedPath::Kind::unreachable) {
            if (!rule.is_optional)
                notes_.push_back(fmt::format("'{}' is not there, so it is not writable", path));
            return;
        }
        const Kind kind = rule.kind == ResolvedPath::Kind::device ? Kind::device : Kind::writable;
        if (around() != State::write) {
            mount(path, kind);
            plan_.writable.push_back(path);
        } else if (above_.back().path != "/" && rule.kind == ResolvedPath::Kind::directory) {
            // A file needs no mount, which would keep programs from replacing it. The mount keeps
            // the directory from being replaced: the next command gets the directory that has this
            // name then.
            mount(path, kind);
            pin_above(path);
        }
        enter(path, State::write);
    }

    void place_read_only(const std::string& path, const PathRule& rule) {
        if (rule.kind == ResolvedPath::Kind::unreachable) return place_unreachable(path, rule);
        if (rule.kind == ResolvedPath::Kind::missing) return hold_missing(path, rule);
        if (around() != State::read) {
            mount(path, Kind::read_only);
            pin_above(path);
            join(path, rule);
        }
        enter(path, State::read);
    }

    void place_hidden(const std::string& path, const PathRule& rule) {
        const State around_it = around();
        if (rule.kind == ResolvedPath::Kind::unreachable) return place_unreachable(path, rule);
        if (rule.kind == ResolvedPath::Kind::missing) return hold_missing(path, rule);
        if (around_it == State::read || around_it == State::write) {
            mount(path,
                  rule.kind == ResolvedPath::Kind::directory ? Kind::hidden : Kind::hidden_file);
            pin_above(path);
            join(path, rule);
        }
        enter(path, State::denied);
    }

    void place_own(const std::string& path, Kind kind, State state) {
        const State around_it = around();
        if (around_it == State::denied) return;
        if (around_it == State::unseen && kind == Kind::private_directory) return;
        mount(path, kind);
        pin_above(path);
        plan_.writable.push_back(path);
        enter(path, state);
    }

    // A missing path needs a placeholder only where a program could make it.
    void hold_missing(const std::string& path, const PathRule& rule) {
        if (around() != State::write || rule.is_optional) return;
        const Making making = making_of(path);
        if (making == Making::impossible) return;
        if (making == Making::after_chmod) return cannot_hold(path, rule);
        std::vector<std::string> made;
        for (std::string here = parent_of(path); !locate_last(here).exists();
             here = parent_of(here))
            made.push_back(here);
        for (auto outer = made.rbegin(); outer != made.rend(); ++outer)
            add_placeholder(*outer);
        if (rule.file)
            plan_.placeholder_files.push_back({path, *rule.file});
        else
            add_placeholder(path);
        mount(path, rule.state == State::denied ? Kind::hidden : Kind::read_only);
        pin_above(path);
        enter(path, rule.state);
    }

    void add_placeholder(const std::string& path) {
        if (std::ranges::find(plan_.placeholders, path) == plan_.placeholders.end())
            plan_.placeholders.push_back(path);
    }

    // An empty directory or file may be the placeholder of another sandbox, and must not vanish
    // with that sandbox.
    void join(const std::string& path, const PathRule& rule) {
        if (around() != State::write) return;
        // In a shared /tmp there are workspaces of other users, who make their own placeholders.
        if (rule.is_temporary) return;
        if (rule.kind == ResolvedPath::Kind::directory && is_empty_directory(path))
            add_placeholder(path);
        else if (rule.file && has_size(path, rule.file->size()))
            plan_.placeholder_files.push_back({path, *rule.file});
    }

    void cannot_hold(const std::string& path, const PathRule& rule) {
        lose(rule,
             fmt::format("'{}' is not there, and cannot be kept from being made: its directory is "
                         "not writable but is ours",
                         path),
             "make it, make its directory writable, or take it out of the policy");
    }

    // The path cannot be checked, but a command could reach it by changing the obstacle: by chmod,
    // or by replacing a link or a file.
    void place_unreachable(const std::string& path, const PathRule& rule) {
        std::string above = parent_of(path);
        while (!locate(above).exists())
            above = parent_of(above);
        const ResolvedPath way = locate(above);
        if (rules_.covering(way.path) != State::write) return;
        const bool is_directory = way.kind == ResolvedPath::Kind::directory;
        if (!is_directory && rule.is_optional) return;
        const std::string changed = is_directory ? joined(way.path, "x") : way.path;
        if (making_of(changed) == Making::impossible) return;
        lose(rule,
             fmt::format("'{}' cannot be looked for: '{}' is in the way, and a command could "
                         "change that",
                         path, way.path),
             "make it reachable, or take it out of the policy");
    }

    void lose(const PathRule& rule, std::string message, std::string hint) {
        const Guarantee guarantee =
            rule.state == State::denied ? Guarantee::deny_read : Guarantee::protected_paths;
        rules_.losses.push_back({guarantee, std::move(message), std::move(hint)});
    }

    // A directory that merely contains mounts can be renamed and replaced; a directory that is
    // itself a mount cannot. So every directory between a writable root and a protected path in it
    // becomes a mount.
    void pin_above(const std::string& path) {
        if (around() != State::write) return;
        for (std::string here = parent_of(path); here != "/"; here = parent_of(here)) {
            // The sandbox's own /dev must not become the machine's.
            if (here == "/dev" || mounts_.contains(here)) return;
            mount(here, Kind::writable);
        }
    }

    // Adds links that lie in directories which the sandbox does not show as they are.
    void place_links() {
        for (const Link& link : rules_.links) {
            const State state = rules_.covering(parent_of(link.path));
            const bool is_shown = state == State::read || state == State::write;
            if (is_shown || state == State::denied || mounts_.contains(link.path)) continue;
            mounts_.insert_or_assign(link.path, Planned{Kind::link, link.target});
        }
    }

    struct Planned {
        Kind kind = Kind::read_only;
        std::string target = {};
    };

    const Policy& policy_;
    PathRules rules_;
    Plan plan_;
    std::map<std::string, Planned, DepthFirst> mounts_;
    std::vector<Above> above_;
    std::vector<std::string> notes_;
};

} // namespace

Result<Plan> make_plan(const Policy& policy, const Context& context, int walker) {
    PathRules rules = TRY(rules_of(policy, context, walker));
    if (policy.protects_metadata && policy.file_system == FileSystem::restricted)
        protect_metadata(rules, policy, context);
    return Planning(policy, std::move(rules)).plan();
}

} // namespace ew::sandbox
