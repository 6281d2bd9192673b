#include "server/environment/remote_plan.h"

#include "config/config.h"
#include "core/output/utf8.h"
#include "core/text/paths.h"
#include "peer/peer.h"
#include "protocol/process_start.h"
#include "server/request/sandbox_request.h"
#include "server/request/start_request.h"

#include <fmt/format.h>

#include <utility>

namespace ew::server {

namespace {

using protocol::ExecCommandParams;

Result<std::string> directory_there(const std::optional<std::string>& wanted,
                                    const std::string& root) {
    if (!wanted || wanted->empty()) return root;
    const bool is_absolute = wanted->front() == '/';
    std::optional<std::string> path =
        core::path_as_written(is_absolute ? *wanted : fmt::format("{}/{}", root, *wanted));
    if (path) return std::move(*path);
    return Error{ErrorKind::invalid_params,
                 "workdir: expected a path without '..' and NUL: where such a path leads in "
                 "another environment cannot be told from here",
                 "give it as it is there", "workdir"};
}

// Returns the named shell, which the remote server looks up, or the default shell of the remote
// user.
os::ShellProgram shell_there(const ExecCommandParams& params, const peer::Peer& peer) {
    if (!params.shell) return peer.shell;
    return {params.shell->substr(params.shell->rfind('/') + 1), *params.shell};
}

Result<std::vector<std::string>> roots_there(const RemotePlace& place) {
    if (!place.environment.workspace_roots.empty()) return place.environment.workspace_roots;
    if (!place.peer.directory.empty()) return std::vector<std::string>{place.peer.directory};
    return Error{ErrorKind::environment_unavailable,
                 fmt::format("the server of '{}' does not tell its directory, and no "
                             "workspace_roots are set for it",
                             place.environment.id),
                 "add workspace_roots to this environment in config.toml"};
}

// Returns the session's settings for the remote environment. Writable roots of this machine mean
// nothing there.
SessionSettings settings_there(const RemotePlace& place, const std::vector<std::string>& roots) {
    SessionSettings settings = place.settings;
    settings.config.sandbox = place.environment.sandbox.value_or(settings.config.sandbox);
    settings.config.confinement.writable_roots.clear();
    settings.workspace_roots = roots;
    settings.named_roots = roots;
    return settings;
}

Result<void> plan_confinement(ExecPlan& plan, const ExecCommandParams& params,
                              const SessionSettings& settings) {
    sandbox::Additions additions;
    if (params.additional_permissions)
        additions = TRY(additions_as_written(*params.additional_permissions, plan.workdir));
    return confine(plan, params, settings, std::move(additions));
}

RemotePlan remote_plan(const RemotePlace& place, const SessionSettings& settings) {
    const config::Environment& environment = place.environment;
    RemotePlan remote;
    remote.environment = environment.id;
    remote.reached_by = {environment.program};
    remote.reached_by.insert(remote.reached_by.end(), environment.args.begin(),
                             environment.args.end());
    remote.surroundings = {environment.cwd};
    for (const auto& [name, value] : environment.env)
        remote.surroundings.push_back(fmt::format("{}={}", name, value));
    remote.workspace_roots = settings.workspace_roots;
    remote.shell = place.peer.shell.path;
    remote.is_execward = place.peer.is_execward;
    remote.confines = place.peer.confines;
    remote.inherited = to_wire(settings.config.environment);
    return remote;
}

// ---------------------------------------------------------------- the sandbox, for the wire

protocol::SpecialKind special_kind(sandbox::Special special) {
    using protocol::SpecialKind;
    switch (special) {
    case sandbox::Special::root: return SpecialKind::root;
    case sandbox::Special::minimal: return SpecialKind::minimal;
    case sandbox::Special::project_roots:
    case sandbox::Special::workspace: return SpecialKind::project_roots;
    case sandbox::Special::tmpdir: return SpecialKind::tmpdir;
    case sandbox::Special::slash_tmp: return SpecialKind::slash_tmp;
    case sandbox::Special::unknown: break;
    }
    return SpecialKind::unknown;
}

protocol::EntryAccess access_of(sandbox::Access access) {
    switch (access) {
    case sandbox::Access::read: return protocol::EntryAccess::read;
    case sandbox::Access::write: return protocol::EntryAccess::write;
    case sandbox::Access::deny: break;
    }
    return protocol::EntryAccess::deny;
}

protocol::FileSystemEntry entry_of(const sandbox::Entry& entry) {
    protocol::FileSystemEntry wire;
    wire.access = access_of(entry.access);
    if (entry.skip_if_missing) wire.missing_path_behavior = protocol::MissingPath::skip;
    switch (entry.kind) {
    case sandbox::Entry::Kind::path:
        wire.path.type = protocol::EntryPathType::path;
        wire.path.path = protocol::FileUri{entry.path};
        break;
    case sandbox::Entry::Kind::glob:
        wire.path.type = protocol::EntryPathType::glob_pattern;
        wire.path.pattern = entry.path;
        break;
    case sandbox::Entry::Kind::special:
        wire.path.type = protocol::EntryPathType::special;
        wire.path.value.emplace().kind = special_kind(entry.special);
        if (!entry.path.empty()) wire.path.value->subpath = entry.path;
        break;
    }
    return wire;
}

// A server that does not know the network by host refuses it, as it should: no other one stands
// for it.
protocol::NetworkPolicy network_of(sandbox::Network network) {
    switch (network) {
    case sandbox::Network::restricted: break;
    case sandbox::Network::enabled: return protocol::NetworkPolicy::enabled;
    case sandbox::Network::hosts: return protocol::NetworkPolicy::hosts;
    }
    return protocol::NetworkPolicy::restricted;
}

// Returns the form that every version with sandboxes reads; execward reads additional members.
protocol::SandboxRequest request_for(const sandbox::Policy& policy, const ExecPlan& plan) {
    protocol::SandboxRequest request;
    protocol::PermissionProfile& permissions = request.permissions.emplace();
    permissions.network = network_of(policy.network);
    protocol::FileSystemPolicy& files = permissions.file_system.emplace();
    std::vector<protocol::FileSystemEntry>& entries = files.entries.emplace();
    for (const sandbox::Entry& entry : policy.entries)
        entries.push_back(entry_of(entry));
    protocol::PolicyContext& context = request.policy_context.emplace();
    context.cwd = protocol::Path{plan.workdir};
    std::vector<protocol::Path>& roots = context.workspace_roots.emplace();
    for (const std::string& root : plan.remote->workspace_roots)
        roots.push_back({root});
    request.windows_sandbox_level = protocol::WindowsLevel::disabled; // required even on Linux
    if (!plan.remote->is_execward) return request;
    request.enforcement = policy.enforcement == sandbox::Enforcement::require
                              ? protocol::Enforcement::require
                              : protocol::Enforcement::best_effort;
    request.report_writes = policy.reports_writes;
    request.private_tmp = policy.has_private_tmp;
    return request;
}

} // namespace

Result<ExecPlan> plan_exec_there(const ExecCommandParams& params, const RemotePlace& place) {
    ExecPlan plan;
    const std::vector<std::string> roots = TRY(roots_there(place));
    const SessionSettings settings = settings_there(place, roots);
    if (params.stdin_text && !params.tty && !place.peer.is_execward)
        return Error{ErrorKind::environment_unavailable,
                     fmt::format("the command was not run: the server of '{}' cannot end the "
                                 "input of a program",
                                 place.environment.id),
                     "leave stdin out, use a terminal, or run execward there"};
    plan.mode = mode_of(params);
    plan.is_login = is_login_shell(params, settings);
    plan.argv = TRY(argv_of(params, shell_there(params, place.peer), plan.is_login));
    plan.program = plan.argv.front(); // the remote server looks the program up
    plan.workdir = TRY(directory_there(params.workdir, roots.front()));
    // The remote server inherits its own variables; these are laid over them.
    core::EnvironmentPolicy nothing;
    nothing.inherit = core::EnvironmentPolicy::Inherit::none;
    plan.environment = core::exec_environment(nothing, {}, place.session_tag, params.env);
    add_own_variables(plan, params, settings, place.set_by_user);
    if (params.tty) plan.terminal = window_size(params.size.value_or(protocol::WindowSize{}));
    plan.remote = remote_plan(place, settings);
    TRY(plan_confinement(plan, params, settings));
    return plan;
}

RemoteStart remote_start(const ExecPlan& plan, const ExtraPermissions& extra) {
    RemoteStart start;
    start.environment = plan.remote->environment;
    start.for_execward = plan.remote->is_execward;
    start.inherited = plan.remote->inherited;
    if (const std::optional<SandboxOrder> confined = confined_start(plan, extra))
        start.sandbox = request_for(confined->policy, plan);
    return start;
}

} // namespace ew::server
