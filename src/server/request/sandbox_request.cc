#include "server/request/sandbox_request.h"

#include "config/linked_file.h"
#include "core/environment.h"
#include "core/exec_call.h"
#include "core/text/paths.h"
#include "server/request/managed_network.h"
#include "server/request/requested_policy.h"
#include "server/request/start_request.h"
#include "server/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace ew::server {

namespace {

using protocol::LaunchMode;
using protocol::SandboxRequest;

// `order`: how the process would be confined.
std::optional<Error> refusal_of_network(const protocol::StartParams& params,
                                        const std::optional<SandboxOrder>& order) {
    const bool is_by_host = order && order->policy.network == sandbox::Network::hosts;
    if (is_by_host) return std::nullopt;
    if (params.network_proxy) return no_managed_network("networkProxy", "it needs a sandbox");
    constexpr std::string_view why = "the network of the process is not by host";
    if (params.enforce_managed_network) return no_managed_network("enforceManagedNetwork", why);
    if (params.sandbox && params.sandbox->enforce_managed_network && !params.sandbox->is_disabled())
        return no_managed_network("sandbox.enforceManagedNetwork", why);
    return std::nullopt;
}

// Fills in the special places. If no workspace root is named, a request with `mode` gets the
// directory as its root, and a request with permissions gets no root.
sandbox::Context context_of(std::string directory, const SandboxRequest& request) {
    const protocol::PolicyContext nothing;
    const protocol::PolicyContext& named =
        request.policy_context ? *request.policy_context : nothing;
    sandbox::Context context;
    context.cwd = std::move(directory);
    for (const std::optional<protocol::Path>& cwd : {request.cwd, named.cwd, request.policy_cwd})
        if (cwd) context.cwd = cwd->native;
    if (named.workspace_roots)
        context.workspace_roots = natives_of(*named.workspace_roots);
    else if (request.workspace_roots)
        context.workspace_roots = natives_of(*request.workspace_roots);
    else if (request.mode)
        context.workspace_roots = {context.cwd};
    return context;
}

std::string tmpdir_of(const protocol::StartParams& params) {
    core::Variables environment;
    if (params.env_policy)
        environment = core::apply(policy_of(*params.env_policy), own_environment());
    return tmpdir_in(core::overlaid(std::move(environment), params.env));
}

sandbox::Enforcement enforcement_of(const SandboxRequest& request, sandbox::Enforcement otherwise) {
    if (request.mode == LaunchMode::require) return sandbox::Enforcement::require;
    if (!request.enforcement) return otherwise;
    return *request.enforcement == protocol::Enforcement::require
               ? sandbox::Enforcement::require
               : sandbox::Enforcement::best_effort;
}

bool denies(const sandbox::Policy& policy, sandbox::Special place) {
    return std::ranges::any_of(policy.entries, [place](const sandbox::Entry& entry) {
        return entry.kind == sandbox::Entry::Kind::special && entry.special == place &&
               entry.access == sandbox::Access::deny;
    });
}

// No sandbox can deny a place that is unknown here, or that does not exist.
std::optional<Error> refusal_of_places(const SandboxOrder& order) {
    if (denies(order.policy, sandbox::Special::unknown))
        return Error{ErrorKind::sandbox_unavailable,
                     "a special place that is to be denied is not known to this version of "
                     "execward",
                     "deny it by its path", "sandbox"};
    if (order.context.workspace_roots.empty() &&
        denies(order.policy, sandbox::Special::project_roots))
        return Error{ErrorKind::sandbox_unavailable,
                     "project_roots are to be denied, and there are none",
                     "name them in policyContext.workspaceRoots, or deny the path", "sandbox"};
    return std::nullopt;
}

Error in_request(Error error, const SandboxRequest& request) {
    std::string where = request.permissions          ? "sandbox.permissions.file_system"
                        : request.file_system_policy ? "sandbox.fileSystemPolicy"
                                                     : "sandbox.policy";
    // The entries of a mode are made from its options, so their numbers mean nothing to the client.
    const bool has_entries = request.permissions || request.file_system_policy;
    if (has_entries && !error.path.empty()) where += '.' + error.path;
    error.path = std::move(where);
    return error;
}

// Adds a file of execward, unless one of the directories holds it.
void add_file(std::vector<std::string>& places, std::string path) {
    const bool is_known = std::ranges::any_of(
        places, [&path](const std::string& place) { return core::is_at_or_below(path, place); });
    if (!path.empty() && !is_known) places.push_back(std::move(path));
}

// Nothing but the request says which hosts a process may reach, as with its whole network.
Result<std::vector<core::HostRule>> hosts_of(const SandboxRequest& request,
                                             const sandbox::Policy& policy) {
    std::vector<core::HostRule> rules;
    if (!request.allow_hosts.empty() && policy.network != sandbox::Network::hosts)
        return Error{ErrorKind::invalid_params, "allowHosts needs the network \"hosts\"",
                     "leave it out, or ask for that network", "sandbox.allowHosts"};
    for (const std::string& text : request.allow_hosts) {
        Result<core::HostRule> rule = core::allowed_host(text);
        if (!rule) {
            rule.error().path = "sandbox.allowHosts";
            return std::move(rule.error());
        }
        rule->origin = "allowHosts";
        rules.push_back(std::move(*rule));
    }
    return rules;
}

// Values for a process or an operation on files where the request gives none.
struct Surroundings {
    std::string cwd;
    std::string tmpdir;
    // Of a managed network, which is then the network of the process.
    std::optional<std::vector<core::HostRule>> managed = {};
};

Result<std::optional<SandboxOrder>> sandbox_in(const SandboxRequest& request,
                                               Surroundings surroundings, const ServerSide& side) {
    using Nothing = std::optional<SandboxOrder>;
    SandboxOrder order;
    order.policy = requested_policy(request);
    if (surroundings.managed) order.policy.network = sandbox::Network::hosts;
    order.policy.is_wanted = request.mode == LaunchMode::require;
    if (Result<void> good = sandbox::check(order.policy); !good)
        return in_request(good.error(), request);
    order.context = context_of(std::move(surroundings.cwd), request);
    if (std::optional<Error> refusal = refusal_of_places(order)) return *refusal;
    if (!sandbox::needs_sandbox(order.policy)) return Nothing();
    order.policy.enforcement = enforcement_of(request, side.enforcement);
    order.policy.reports_writes = request.report_writes.value_or(side.reports_writes);
    order.context.tmpdir = std::move(surroundings.tmpdir);
    order.context.hidden = side.hidden;
    order.context.hosts = TRY(hosts_of(request, order.policy));
    if (surroundings.managed)
        for (core::HostRule& rule : *surroundings.managed)
            order.context.hosts.push_back(std::move(rule));
    return std::optional(std::move(order));
}

} // namespace

Result<std::optional<SandboxOrder>> sandbox_of(const protocol::StartParams& params,
                                               const ServerSide& side) {
    if (params.managed_network) return refusal_of_managed_network();
    Surroundings surroundings = {params.cwd.native, tmpdir_of(params)};
    if (params.network_proxy)
        surroundings.managed = TRY(rules_of_network_proxy(*params.network_proxy));
    Result<std::optional<SandboxOrder>> order = std::optional<SandboxOrder>();
    if (params.sandbox && !params.sandbox->is_disabled())
        order = sandbox_in(*params.sandbox, std::move(surroundings), side);
    if (order)
        if (std::optional<Error> refusal = refusal_of_network(params, *order)) return *refusal;
    if (!order && order.error().kind == ErrorKind::sandbox_unavailable)
        order.error().message.insert(0, "the process was not started: ");
    return order;
}

Result<std::optional<SandboxOrder>>
sandbox_of_files(const std::optional<protocol::SandboxRequest>& request, std::string cwd,
                 const ServerSide& side) {
    if (!request || request->is_disabled()) return std::optional<SandboxOrder>();
    std::optional<SandboxOrder> order =
        TRY(sandbox_in(*request, {std::move(cwd), tmpdir_in(own_environment())}, side));
    if (!order) return order;
    fit_for_files(order->policy);
    return order;
}

void fit_for_files(sandbox::Policy& policy) {
    policy.network = sandbox::Network::enabled;
    policy.has_private_tmp = false;
    policy.keeps_writes = true;
    policy.reports_writes = false;
    policy.is_wanted = true;
    // The answer has no member for missing guarantees.
    policy.enforcement = sandbox::Enforcement::require;
}

void forbid_writing(sandbox::Policy& policy) {
    for (sandbox::Entry& entry : policy.entries)
        if (entry.access == sandbox::Access::write) entry.access = sandbox::Access::read;
}

sandbox::ModeOptions mode_options(const config::ConfinementOptions& confinement) {
    sandbox::ModeOptions options;
    options.writable_roots = confinement.writable_roots;
    options.deny_read = confinement.deny_read;
    options.has_network = confinement.network_access;
    options.has_hosts = confinement.network_by_host || confinement.network_observe;
    options.shares_tmp = confinement.shared_tmp;
    options.excludes_slash_tmp = confinement.exclude_slash_tmp;
    options.excludes_tmpdir = confinement.exclude_tmpdir_env_var;
    options.reports_writes = confinement.report_writes;
    options.has_private_caches = confinement.private_caches;
    options.read_only = confinement.read_only;
    options.enforcement = confinement.enforcement == config::Enforcement::require
                              ? sandbox::Enforcement::require
                              : sandbox::Enforcement::best_effort;
    return options;
}

sandbox::Policy policy_of(const SessionSettings& settings) {
    const config::Config& config = settings.config;
    sandbox::ModeOptions options = mode_options(config.confinement);
    // Only what is reported can lead to a question afterwards.
    using core::exec_call::RetryRule;
    const RetryRule retry = core::exec_call::retry_rule(config.approval_policy, config.granular);
    options.reports_writes = options.reports_writes || retry == RetryRule::after_any;
    return sandbox::policy_of(config.sandbox, options);
}

sandbox::Context context_of(const SessionSettings& settings, std::string workdir,
                            std::string tmpdir, std::vector<std::string> hidden) {
    sandbox::Context context;
    context.cwd = std::move(workdir);
    // The roots as the client named them: a confined program could have made a link, and its target
    // is not a root.
    context.workspace_roots =
        settings.named_roots.empty() ? settings.workspace_roots : settings.named_roots;
    context.tmpdir = std::move(tmpdir);
    context.hidden = std::move(hidden);
    context.known = settings.known_roots;
    return context;
}

std::string tmpdir_in(const core::Variables& environment) {
    std::string tmpdir;
    for (const auto& [name, value] : environment)
        if (name == "TMPDIR") tmpdir = value;
    return tmpdir.starts_with('/') ? tmpdir : "";
}

std::vector<std::string> hidden_places(const config::Paths& paths, const std::string& database) {
    std::vector<std::string> places;
    for (const std::string& directory : {paths.config_directory, paths.state_directory})
        if (!directory.empty()) places.push_back(directory);
    add_file(places, paths.rules_directory);
    add_file(places, paths.config_file);
    for (const std::string& linked : config::link_targets(paths))
        add_file(places, linked);
    const std::string& file = database.empty() ? paths.state_database : database;
    if (!file.starts_with('/')) return places;
    // SQLite keeps these files beside a database (sqlite.org/tempfiles.html).
    for (const std::string_view suffix : {"", "-journal", "-wal", "-shm"})
        add_file(places, fmt::format("{}{}", file, suffix));
    return places;
}

ServerSide server_side(const Session& session) {
    const sandbox::ModeOptions options = mode_options(session.settings().config.confinement);
    return {hidden_places(session.setup().paths, session.database()), options.enforcement,
            options.reports_writes};
}

} // namespace ew::server
