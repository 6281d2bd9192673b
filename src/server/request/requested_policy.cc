#include "server/request/requested_policy.h"

namespace ew::server {

namespace {

using protocol::EntryAccess;
using protocol::EntryPathType;
using protocol::FileSystemType;
using protocol::SpecialKind;

sandbox::Access access_of(EntryAccess access) {
    switch (access) {
    case EntryAccess::read: return sandbox::Access::read;
    case EntryAccess::write: return sandbox::Access::write;
    case EntryAccess::deny:
    case EntryAccess::none: break;
    }
    return sandbox::Access::deny;
}

sandbox::Special special_of(SpecialKind kind) {
    switch (kind) {
    case SpecialKind::root: return sandbox::Special::root;
    case SpecialKind::minimal: return sandbox::Special::minimal;
    case SpecialKind::project_roots: return sandbox::Special::project_roots;
    case SpecialKind::current_working_directory: return sandbox::Special::workspace;
    case SpecialKind::tmpdir: return sandbox::Special::tmpdir;
    case SpecialKind::slash_tmp: return sandbox::Special::slash_tmp;
    case SpecialKind::unknown: break;
    }
    return sandbox::Special::unknown;
}

// The decoder has checked that the member for the type is present.
sandbox::Entry entry_of(const protocol::FileSystemEntry& wire) {
    sandbox::Entry entry;
    entry.access = access_of(wire.access);
    entry.skip_if_missing = wire.missing_path_behavior.has_value();
    switch (wire.path.type) {
    case EntryPathType::path:
        entry.kind = sandbox::Entry::Kind::path;
        entry.path = wire.path.path->native;
        break;
    case EntryPathType::glob_pattern:
        entry.kind = sandbox::Entry::Kind::glob;
        entry.path = *wire.path.pattern;
        break;
    case EntryPathType::special:
        entry.kind = sandbox::Entry::Kind::special;
        entry.special = special_of(wire.path.value->kind);
        entry.path = wire.path.value->subpath.value_or("");
        break;
    }
    return entry;
}

sandbox::FileSystem file_system_of(FileSystemType type) {
    switch (type) {
    case FileSystemType::restricted: return sandbox::FileSystem::restricted;
    case FileSystemType::unrestricted: return sandbox::FileSystem::unrestricted;
    case FileSystemType::external: break;
    }
    return sandbox::FileSystem::external;
}

// The entries then decide everything about files, also about /tmp.
void take_over(sandbox::Policy& policy, const protocol::FileSystemPolicy& wire) {
    policy.file_system = file_system_of(wire.type);
    policy.entries.clear();
    policy.has_private_tmp = false;
    policy.protects_metadata = true;
    policy.glob_depth = wire.glob_scan_max_depth;
    if (wire.type != FileSystemType::restricted) return;
    for (const protocol::FileSystemEntry& entry : *wire.entries)
        policy.entries.push_back(entry_of(entry));
}

sandbox::Network network_of(protocol::NetworkPolicy policy) {
    switch (policy) {
    case protocol::NetworkPolicy::restricted: break;
    case protocol::NetworkPolicy::enabled: return sandbox::Network::enabled;
    case protocol::NetworkPolicy::hosts: return sandbox::Network::hosts;
    }
    return sandbox::Network::restricted;
}

sandbox::ModeOptions options_of(const protocol::SandboxPolicy& policy) {
    sandbox::ModeOptions options;
    if (policy.writable_roots) options.writable_roots = natives_of(*policy.writable_roots);
    options.deny_read = policy.deny_read;
    options.has_network = policy.network_access;
    if (policy.network) {
        options.has_network = *policy.network == protocol::NetworkPolicy::enabled;
        options.has_hosts = *policy.network == protocol::NetworkPolicy::hosts;
    }
    options.shares_tmp = policy.shared_tmp;
    options.excludes_slash_tmp = policy.exclude_slash_tmp;
    options.excludes_tmpdir = policy.exclude_tmpdir_env_var;
    return options;
}

// With the type "external", only the file system is confined by somebody else.
sandbox::Policy policy_in(const protocol::PermissionProfile& profile) {
    sandbox::Policy policy;
    if (profile.network) policy.network = network_of(*profile.network);
    if (profile.type == protocol::PermissionsType::external)
        policy.file_system = sandbox::FileSystem::external;
    else if (profile.file_system)
        take_over(policy, *profile.file_system);
    return policy;
}

} // namespace

sandbox::Policy requested_policy(const protocol::SandboxRequest& request) {
    if (request.permissions) {
        sandbox::Policy policy = policy_in(*request.permissions);
        policy.has_private_tmp = request.private_tmp.value_or(false) &&
                                 policy.file_system == sandbox::FileSystem::restricted;
        return policy;
    }
    sandbox::Policy policy;
    if (request.policy)
        policy = sandbox::policy_of(request.policy->type, options_of(*request.policy));
    if (request.file_system_policy) take_over(policy, *request.file_system_policy);
    if (request.network_policy) policy.network = network_of(*request.network_policy);
    return policy;
}

std::vector<std::string> natives_of(const std::vector<protocol::Path>& paths) {
    std::vector<std::string> result;
    result.reserve(paths.size());
    for (const protocol::Path& path : paths)
        result.push_back(path.native);
    return result;
}

} // namespace ew::server
