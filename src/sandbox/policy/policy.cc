#include "sandbox/policy/policy.h"

#include "core/text/patterns.h"
#include "sandbox/policy/glob.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace ew::sandbox {

namespace {

Entry special(Special place, Access access) {
    Entry entry;
    entry.kind = Entry::Kind::special;
    entry.special = place;
    entry.access = access;
    return entry;
}

Entry at(std::string path, Access access) {
    Entry entry;
    entry.path = std::move(path);
    entry.access = access;
    return entry;
}

bool is_root(const Entry& entry) {
    if (entry.kind == Entry::Kind::special)
        return entry.special == Special::root && entry.path.empty();
    return entry.kind == Entry::Kind::path && entry.path == "/";
}

// Of two entries for the same path the one with the larger strength wins.
int strength(Access access) {
    switch (access) {
    case Access::deny: return 2;
    case Access::write: return 1;
    case Access::read: return 0;
    }
    return 2;
}

// Returns the access to all paths without an entry of their own, or nullopt if they are not
// visible.
std::optional<Access> access_of_root(const Policy& policy) {
    std::optional<Access> result;
    for (const Entry& entry : policy.entries)
        if (is_root(entry) && (!result || strength(entry.access) > strength(*result)))
            result = entry.access;
    return result;
}

bool has(const Policy& policy, Access access) {
    return std::ranges::any_of(policy.entries,
                               [access](const Entry& entry) { return entry.access == access; });
}

// Everything may be written, without exception.
bool is_all_writable(const Policy& policy) {
    return access_of_root(policy) == Access::write && !has(policy, Access::deny) &&
           !has(policy, Access::read);
}

bool has_parent_step(std::string_view path) {
    for (std::size_t from = 0; from <= path.size();) {
        const std::size_t to = std::min(path.find('/', from), path.size());
        if (path.substr(from, to - from) == "..") return true;
        from = to + 1;
    }
    return false;
}

// Returns what is wrong with the entry, or an empty string.
std::string fault_of(const Entry& entry) {
    if (entry.path.find('\0') != std::string::npos) return "a NUL in a path";
    if (has_parent_step(entry.path)) return fmt::format("'..' in '{}'", entry.path);
    switch (entry.kind) {
    case Entry::Kind::path:
        if (!entry.path.starts_with('/')) return fmt::format("'{}' is not absolute", entry.path);
        return "";
    case Entry::Kind::glob: {
        Result<std::vector<Glob>> globs = parse_glob(entry.path);
        return globs ? "" : globs.error().message;
    }
    case Entry::Kind::special:
        if (entry.path.starts_with('/'))
            return fmt::format("'{}' is to be below a special place, and absolute", entry.path);
        return "";
    }
    return "";
}

void add_tmp(Policy& policy, const ModeOptions& options) {
    policy.has_private_tmp = !options.shares_tmp;
    if (!options.shares_tmp) return;
    if (!options.excludes_slash_tmp)
        policy.entries.push_back(special(Special::slash_tmp, Access::write));
    if (!options.excludes_tmpdir) policy.entries.push_back(special(Special::tmpdir, Access::write));
}

void add_denied(Policy& policy, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        Entry entry = at(path, Access::deny);
        if (core::is_pattern(path)) entry.kind = Entry::Kind::glob;
        policy.entries.push_back(std::move(entry));
    }
}

} // namespace

Policy policy_of(core::SandboxMode mode, const ModeOptions& options) {
    Policy policy;
    policy.network = options.has_network ? Network::enabled : Network::restricted;
    if (options.has_hosts) policy.network = Network::hosts;
    policy.reports_writes = options.reports_writes;
    if (options.has_private_caches) policy.caches = Caches::of_session;
    policy.enforcement = options.enforcement;
    policy.read_only = options.read_only;
    switch (mode) {
    case core::SandboxMode::danger_full_access:
        policy.file_system = FileSystem::unrestricted;
        policy.network = Network::enabled;
        return policy;
    case core::SandboxMode::external_sandbox:
        policy.file_system = FileSystem::external;
        return policy;
    case core::SandboxMode::read_only:
        policy.entries.push_back(special(Special::root, Access::read));
        policy.has_private_tmp = !options.shares_tmp;
        break;
    case core::SandboxMode::workspace_write:
        policy.entries.push_back(special(Special::root, Access::read));
        policy.entries.push_back(special(Special::workspace, Access::write));
        for (const std::string& root : options.writable_roots)
            policy.entries.push_back(at(root, Access::write));
        add_tmp(policy, options);
        break;
    }
    add_denied(policy, options.deny_read);
    return policy;
}

bool needs_sandbox(const Policy& policy) {
    if (policy.is_wanted && policy.file_system != FileSystem::external) return true;
    switch (policy.file_system) {
    case FileSystem::external: return false;
    case FileSystem::unrestricted: return policy.network != Network::enabled;
    case FileSystem::restricted:
        return policy.network != Network::enabled || !is_all_writable(policy);
    }
    return true;
}

Network widened_network(const Policy& policy, const Additions& additions) {
    if (policy.file_system != FileSystem::restricted) return policy.network;
    if (additions.network) return Network::enabled;
    if (!additions.hosts.empty() && policy.network == Network::restricted) return Network::hosts;
    return policy.network;
}

Policy widened(Policy policy, const Additions& additions) {
    if (policy.file_system != FileSystem::restricted) return policy;
    const auto add = [&policy](const std::vector<std::string>& paths, Access access) {
        for (const std::string& path : paths) {
            if (path.empty()) continue;
            Entry entry = at(path, access);
            entry.is_granted = true;
            if (std::ranges::find(policy.entries, entry) == policy.entries.end())
                policy.entries.push_back(std::move(entry));
        }
    };
    add(additions.read, Access::read);
    add(additions.write, Access::write);
    policy.network = widened_network(policy, additions);
    if (!additions.empty() && policy.caches == Caches::of_session)
        policy.caches = Caches::of_command;
    return policy;
}

GuaranteeSet needed_by(const Policy& policy) {
    if (!needs_sandbox(policy)) return {};
    GuaranteeSet set = {Guarantee::kernel_settings, Guarantee::proc_hidden, Guarantee::signals,
                        Guarantee::ends_together, Guarantee::system_calls};
    if (policy.network != Network::enabled) {
        set.add(Guarantee::net_off);
        set.add(Guarantee::abstract_sockets);
    }
    if (policy.file_system != FileSystem::restricted) return set;

    const std::optional<Access> root = access_of_root(policy);
    if (root != Access::write) {
        set.add(Guarantee::fs_write);
        set.add(Guarantee::fs_metadata);
        set.add(Guarantee::socket_files);
        set.add(Guarantee::named_pipes);
    }
    const bool has_write = has(policy, Access::write);
    const bool carves_out = std::ranges::any_of(policy.entries, [](const Entry& entry) {
        return entry.access == Access::read && !is_root(entry);
    });
    if (has_write && (policy.protects_metadata || carves_out)) set.add(Guarantee::protected_paths);
    if (!root || has(policy, Access::deny)) set.add(Guarantee::deny_read);
    if (policy.has_private_tmp) set.add(Guarantee::private_tmp);
    return set;
}

Result<void> check(const Policy& policy) {
    if (policy.entries.size() > most_entries)
        return Error{
            ErrorKind::invalid_params,
            fmt::format("{} entries; at most {} are taken", policy.entries.size(), most_entries),
            "", "entries"};
    for (std::size_t i = 0; i < policy.entries.size(); ++i) {
        const Entry& entry = policy.entries[i];
        if (entry.kind == Entry::Kind::special && entry.special == Special::unknown) continue;
        std::string fault = fault_of(entry);
        if (!fault.empty())
            return Error{ErrorKind::invalid_params, std::move(fault), "",
                         fmt::format("entries[{}].path", i)};
    }
    return {};
}

} // namespace ew::sandbox
