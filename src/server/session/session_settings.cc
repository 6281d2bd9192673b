#include "server/session/session_settings.h"

#include "os/io.h"

#include <algorithm>

namespace ew::server {

namespace {

core::GranularFlags flags_of(const protocol::GranularSettings& wire) {
    return {wire.sandbox_approval, wire.rules, wire.skill_approval, wire.request_permissions,
            wire.mcp_elicitations};
}

protocol::GranularSettings to_wire(const core::GranularFlags& flags) {
    return {flags.sandbox_approval, flags.rules, flags.skill_approval, flags.request_permissions,
            flags.mcp_elicitations};
}

template <class T>
void take(T& setting, const std::optional<T>& change) {
    if (change) setting = *change;
}

void apply(config::ConfinementOptions& confinement, const protocol::ConfinementSettings& changes) {
    if (changes.writable_roots) {
        confinement.writable_roots.clear();
        for (const protocol::Path& root : *changes.writable_roots)
            confinement.writable_roots.push_back(root.native);
    }
    take(confinement.deny_read, changes.deny_read);
    take(confinement.network_access, changes.network_access);
    take(confinement.network_by_host, changes.network_by_host);
    take(confinement.network_observe, changes.network_observe);
    take(confinement.shared_tmp, changes.shared_tmp);
    take(confinement.exclude_slash_tmp, changes.exclude_slash_tmp);
    take(confinement.exclude_tmpdir_env_var, changes.exclude_tmpdir_env_var);
    take(confinement.report_writes, changes.report_writes);
    take(confinement.private_caches, changes.private_caches);
    take(confinement.read_only, changes.read_only);
    if (changes.enforcement)
        confinement.enforcement = *changes.enforcement == protocol::Enforcement::require
                                      ? config::Enforcement::require
                                      : config::Enforcement::best_effort;
}

protocol::ConfinementSettings to_wire(const config::ConfinementOptions& confinement) {
    protocol::ConfinementSettings wire;
    std::vector<protocol::Path>& roots = wire.writable_roots.emplace();
    for (const std::string& root : confinement.writable_roots)
        roots.push_back({root});
    wire.deny_read = confinement.deny_read;
    wire.network_access = confinement.network_access;
    wire.network_by_host = confinement.network_by_host;
    wire.network_observe = confinement.network_observe;
    wire.shared_tmp = confinement.shared_tmp;
    wire.exclude_slash_tmp = confinement.exclude_slash_tmp;
    wire.exclude_tmpdir_env_var = confinement.exclude_tmpdir_env_var;
    wire.report_writes = confinement.report_writes;
    wire.private_caches = confinement.private_caches;
    wire.read_only = confinement.read_only;
    wire.enforcement = confinement.enforcement == config::Enforcement::require
                           ? protocol::Enforcement::require
                           : protocol::Enforcement::best_effort;
    return wire;
}

protocol::Inherit to_wire(core::EnvironmentPolicy::Inherit inherit) {
    using Inherit = core::EnvironmentPolicy::Inherit;
    switch (inherit) {
    case Inherit::all: return protocol::Inherit::all;
    case Inherit::core: return protocol::Inherit::core;
    case Inherit::none: return protocol::Inherit::none;
    }
    return protocol::Inherit::none;
}

core::EnvironmentPolicy::Inherit inherit_of(protocol::Inherit inherit) {
    using Inherit = core::EnvironmentPolicy::Inherit;
    switch (inherit) {
    case protocol::Inherit::all: return Inherit::all;
    case protocol::Inherit::core: return Inherit::core;
    case protocol::Inherit::none: return Inherit::none;
    }
    return Inherit::none;
}

} // namespace

protocol::EnvPolicy to_wire(const core::EnvironmentPolicy& policy) {
    protocol::EnvPolicy wire;
    wire.inherit = to_wire(policy.inherit);
    wire.ignore_default_excludes = policy.ignore_default_excludes;
    wire.exclude = policy.exclude;
    wire.set = policy.set;
    wire.include_only = policy.include_only;
    return wire;
}

bool SessionSettings::is_confining() const {
    return config.sandbox == core::SandboxMode::read_only ||
           config.sandbox == core::SandboxMode::workspace_write;
}

bool SessionSettings::needs_sandbox(core::SandboxPermissions permissions) const {
    return is_confining() && permissions != core::SandboxPermissions::require_escalated;
}

void apply(SessionSettings& settings, const protocol::Settings& changes) {
    config::Config& config = settings.config;
    config.approval_policy = changes.approval_policy.value_or(config.approval_policy);
    if (changes.granular) config.granular = flags_of(*changes.granular);
    config.sandbox = changes.sandbox.value_or(config.sandbox);
    if (changes.confinement) apply(config.confinement, *changes.confinement);
    if (changes.approval_timeout_ms) {
        constexpr std::uint64_t a_year = 365ULL * 24 * 3600 * 1000;
        config.approval_timeout =
            Millis(static_cast<std::int64_t>(std::min(*changes.approval_timeout_ms, a_year)));
    }
    if (changes.env_policy) config.environment = policy_of(*changes.env_policy);
    if (changes.max_output_tokens)
        config.max_output_tokens = std::min(*changes.max_output_tokens, config::most_output_tokens);
    if (!changes.workspace_roots) return;
    settings.workspace_roots.clear();
    settings.named_roots.clear();
    for (const protocol::Path& root : *changes.workspace_roots) {
        settings.named_roots.push_back(root.native);
        settings.workspace_roots.push_back(os::real_path(root.native).value_or(root.native));
    }
}

protocol::Settings to_wire(const SessionSettings& settings) {
    const config::Config& config = settings.config;
    protocol::Settings wire;
    wire.approval_policy = config.approval_policy;
    wire.granular = to_wire(config.granular);
    wire.sandbox = config.sandbox;
    wire.confinement = to_wire(config.confinement);
    wire.approval_timeout_ms = static_cast<std::uint64_t>(config.approval_timeout.count());
    wire.env_policy = to_wire(config.environment);
    wire.max_output_tokens = config.max_output_tokens;
    std::vector<protocol::Path>& roots = wire.workspace_roots.emplace();
    for (const std::string& root : settings.workspace_roots)
        roots.push_back({root});
    return wire;
}

core::EnvironmentPolicy policy_of(const protocol::EnvPolicy& policy) {
    core::EnvironmentPolicy result;
    result.inherit = inherit_of(policy.inherit);
    result.ignore_default_excludes = policy.ignore_default_excludes;
    result.exclude = policy.exclude;
    result.set = policy.set;
    result.include_only = policy.include_only;
    return result;
}

} // namespace ew::server
