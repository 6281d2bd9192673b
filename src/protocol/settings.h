// The settings of a session, which session/configure changes.
#pragma once

#include "core/judgement/policy_types.h"
#include "json/types.h"
#include "protocol/process_start.h"
#include "protocol/sandbox.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

using core::ApprovalPolicy;

// The settings of a session. An absent member stays unchanged.
struct GranularSettings {
    static constexpr bool refuses_others = true;
    bool sandbox_approval = true;
    bool rules = true;
    bool skill_approval = true;
    bool request_permissions = true;
    bool mcp_elicitations = true;
};

template <class Visitor>
void fields(Visitor& visit, GranularSettings& flags) {
    visit.required("sandboxApproval", flags.sandbox_approval);
    visit.required("rules", flags.rules);
    visit.required("skillApproval", flags.skill_approval);
    visit.required("requestPermissions", flags.request_permissions);
    visit.required("mcpElicitations", flags.mcp_elicitations);
}

// The permissions beyond the mode for a sandbox that Settings::sandbox asks for. Absent members
// stay unchanged.
struct ConfinementSettings {
    static constexpr bool refuses_others = true;
    std::optional<std::vector<Path>> writable_roots = {};
    std::optional<std::vector<std::string>> deny_read = {}; // as in SandboxPolicy
    std::optional<bool> network_access = {};
    std::optional<bool> network_by_host = {};
    std::optional<bool> network_observe = {};
    std::optional<bool> shared_tmp = {};
    std::optional<bool> exclude_slash_tmp = {};
    std::optional<bool> exclude_tmpdir_env_var = {};
    std::optional<Enforcement> enforcement = {};
    std::optional<bool> report_writes = {};
    std::optional<bool> private_caches = {};
    std::optional<std::vector<std::string>> read_only = {};
};

template <class Visitor>
void fields(Visitor& visit, ConfinementSettings& settings) {
    visit.optional("writableRoots", settings.writable_roots);
    visit.optional("denyRead", settings.deny_read);
    visit.optional("readOnly", settings.read_only);
    visit.optional("networkAccess", settings.network_access);
    visit.optional("networkByHost", settings.network_by_host);
    visit.optional("networkObserve", settings.network_observe);
    visit.optional("sharedTmp", settings.shared_tmp);
    visit.optional("excludeSlashTmp", settings.exclude_slash_tmp);
    visit.optional("excludeTmpdirEnvVar", settings.exclude_tmpdir_env_var);
    visit.optional("enforcement", settings.enforcement);
    visit.optional("reportWrites", settings.report_writes);
    visit.optional("privateCaches", settings.private_caches);
}

struct Settings {
    static constexpr bool refuses_others = true;
    std::optional<ApprovalPolicy> approval_policy = {};
    std::optional<GranularSettings> granular = {};
    std::optional<SandboxMode> sandbox = {};
    std::optional<ConfinementSettings> confinement = {};
    std::optional<std::vector<Path>> workspace_roots = {};
    std::optional<std::uint64_t> approval_timeout_ms = {}; // 0: wait without limit
    std::optional<EnvPolicy> env_policy = {};
    std::optional<std::uint64_t> max_output_tokens = {};
};

template <class Visitor>
void fields(Visitor& visit, Settings& settings) {
    visit.optional("approvalPolicy", settings.approval_policy);
    visit.optional("granular", settings.granular);
    visit.optional("sandbox", settings.sandbox);
    visit.optional("confinement", settings.confinement);
    visit.optional("workspaceRoots", settings.workspace_roots, Bounds{1});
    visit.optional("approvalTimeoutMs", settings.approval_timeout_ms);
    visit.optional("envPolicy", settings.env_policy);
    visit.optional("maxOutputTokens", settings.max_output_tokens);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<core::ApprovalPolicy> {
    static constexpr std::array<std::string_view, 5> list = {"untrusted", "on-failure",
                                                             "on-request", "never", "granular"};
};

} // namespace ew::json
