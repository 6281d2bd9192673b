#include "sandbox/supervise/supervision.h"

#include "sandbox/plan/resolved_path.h"

#include <array>
#include <utility>

namespace ew::sandbox {

namespace {

// Protected paths of a writable root (protection.cc) that have a fixed place in it.
constexpr std::array<std::string_view, 7> protected_places = {
    ".git/hooks", ".git/config", ".git/config.worktree", ".git/info", ".agents",
    ".codex",     ".execward"};

std::vector<std::string> roots_of(const Entry& entry, const Context& context) {
    if (entry.kind == Entry::Kind::path) return {entry.path};
    if (entry.kind == Entry::Kind::glob) return {};
    switch (entry.special) {
    case Special::root: return {"/"};
    case Special::minimal: return {}; // only ever readable, which is the default
    case Special::project_roots: return context.workspace_roots;
    case Special::workspace:
        return context.workspace_roots.empty() ? std::vector{context.cwd} : context.workspace_roots;
    case Special::tmpdir:
        if (!context.tmpdir.starts_with('/')) return {};
        return {context.tmpdir};
    case Special::slash_tmp: return {"/tmp"};
    case Special::unknown: return {};
    }
    return {};
}

bool is_for_temporary_files(const Entry& entry) {
    if (entry.kind != Entry::Kind::special) return false;
    return entry.special == Special::tmpdir || entry.special == Special::slash_tmp;
}

// If the whole machine is writable, only the workspace is protected.
void protect(SupervisorSettings& settings, const std::string& writable, const Policy& policy,
             const Context& context) {
    const std::vector<std::string> roots =
        writable == "/" ? context.workspace_roots : std::vector{writable};
    for (const std::string& root : roots)
        for (const std::string_view place : protected_places)
            settings.read_only.push_back(joined(root, place));
    for (const std::string& root : roots)
        for (const std::string& place : policy.read_only)
            if (!place.starts_with('/') && !place.starts_with("~/"))
                settings.read_only.push_back(joined(root, place));
}

void add_entry(SupervisorSettings& settings, const Entry& entry, const Policy& policy,
               const Context& context) {
    for (const std::string& root : roots_of(entry, context)) {
        std::string path =
            entry.kind == Entry::Kind::special ? joined(root, entry.path) : entry.path;
        while (path.size() > 1 && path.ends_with('/'))
            path.pop_back();
        if (entry.access == Access::write && policy.protects_metadata &&
            !is_for_temporary_files(entry))
            protect(settings, path, policy, context);
        auto& places = entry.access == Access::write ? settings.writable : settings.read_only;
        places.push_back(std::move(path));
    }
}

} // namespace

SupervisorSettings supervision_of(const Policy& policy, const Context& context,
                                  const Machine& machine) {
    SupervisorSettings settings;
    settings.is_network_off = policy.network != Network::enabled;
    settings.has_hosts = policy.network == Network::hosts;
    settings.has_own_network =
        settings.is_network_off && machine.has_mounts && machine.has_network_namespace;
    settings.has_mounts = machine.has_mounts;
    settings.reports_changes = policy.reports_writes;
    if (policy.file_system != FileSystem::restricted)
        settings.writable = {"/"};
    else
        for (const Entry& entry : policy.entries)
            add_entry(settings, entry, policy, context);
    if (machine.has_mounts) settings.own = {"/run/user"};
    if (machine.has_mounts && policy.has_private_tmp) settings.own.push_back("/tmp");
    if (policy.has_private_tmp) return settings;
    settings.shared_tmp = {"/tmp"};
    if (!context.tmpdir.empty()) settings.shared_tmp.push_back(context.tmpdir);
    return settings;
}

} // namespace ew::sandbox
