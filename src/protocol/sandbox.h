// How a program shall be confined, how it was confined, and what the sandbox refused. A request has
// one of two forms: the form of Codex with `permissions`, and the form with `mode`. decode.cc holds
// their rules.
#pragma once

#include "core/judgement/policy_types.h"
#include "json/types.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

using json::Bounds;
using json::FileUri;
using json::Path;

using core::SandboxMode;

enum class SandboxType : std::uint8_t { none, linux_seccomp };

// How a program was confined, and which requested guarantees are missing.
struct Confinement {
    SandboxType type = SandboxType::none;
    std::vector<std::string> missing = {};
};

template <class Visitor>
void fields(Visitor& visit, Confinement& confinement) {
    visit.required("type", confinement.type);
    visit.required("missing", confinement.missing);
}

// An access that the sandbox refused to a program.
struct Denial {
    std::string kind = {}; // "network", "socket", "file", "setAside"
    std::optional<std::string> operation = {};
    std::optional<std::string> target = {};
    std::optional<std::int64_t> pid = {};
    std::optional<std::string> program = {};
    std::uint64_t count = 1;
    std::optional<std::string> rule = {};
    std::optional<std::string> allow = {}; // absent: no permission would allow it
    std::optional<std::string> moved_to = {};
};

template <class Visitor>
void fields(Visitor& visit, Denial& denial) {
    visit.required("kind", denial.kind);
    visit.optional("operation", denial.operation);
    visit.optional("target", denial.target);
    visit.optional("pid", denial.pid);
    visit.optional("program", denial.program);
    visit.required("count", denial.count);
    visit.optional("rule", denial.rule);
    visit.optional("allow", denial.allow);
    visit.optional("movedTo", denial.moved_to);
}

// ---------------------------------------------------------------- entries of a file system

enum class SpecialKind : std::uint8_t {
    root,
    minimal,
    project_roots,
    current_working_directory, // the project_roots, or the directory if there are none
    tmpdir,
    slash_tmp,
    unknown, // a name that only the client knows; it matches nothing
};

struct SpecialPlace {
    SpecialKind kind = SpecialKind::root;
    std::optional<std::string> subpath = {};
    std::optional<std::string> path = {}; // for unknown: the client's name
};

template <class Visitor>
void fields(Visitor& visit, SpecialPlace& place) {
    visit.required("kind", place.kind);
    visit.optional("subpath", place.subpath);
    visit.optional("path", place.path);
}

enum class EntryPathType : std::uint8_t { path, glob_pattern, special };

// The member that belongs to `type` is present.
struct EntryPath {
    EntryPathType type = EntryPathType::path;
    std::optional<FileUri> path = {};
    std::optional<std::string> pattern = {};
    std::optional<SpecialPlace> value = {};
};

template <class Visitor>
void fields(Visitor& visit, EntryPath& path) {
    visit.required("type", path.type);
    visit.optional("path", path.path);
    visit.optional("pattern", path.pattern);
    visit.optional("value", path.value);
}

enum class EntryAccess : std::uint8_t { read, write, deny, none }; // none: an older name for deny

enum class MissingPath : std::uint8_t { skip };

struct FileSystemEntry {
    EntryPath path = {};
    EntryAccess access = EntryAccess::read;
    std::optional<MissingPath> missing_path_behavior = {};
};

template <class Visitor>
void fields(Visitor& visit, FileSystemEntry& entry) {
    visit.required("path", entry.path);
    visit.required("access", entry.access);
    visit.optional("missing_path_behavior", entry.missing_path_behavior);
}

enum class FileSystemType : std::uint8_t { restricted, unrestricted, external };

// A restricted policy has entries.
struct FileSystemPolicy {
    FileSystemType type = FileSystemType::restricted;
    std::optional<std::vector<FileSystemEntry>> entries = {};
    std::optional<std::uint64_t> glob_scan_max_depth = {};
};

template <class Visitor>
void fields(Visitor& visit, FileSystemPolicy& policy) {
    visit.required("type", policy.type);
    visit.optional("entries", policy.entries);
    visit.optional("glob_scan_max_depth", policy.glob_scan_max_depth, Bounds{1});
}

enum class NetworkPolicy : std::uint8_t { restricted, enabled, hosts };

// ---------------------------------------------------------------- the form with permissions

enum class PermissionsType : std::uint8_t { managed, disabled, external };

// managed has both members, external has only the network.
struct PermissionProfile {
    PermissionsType type = PermissionsType::managed;
    std::optional<FileSystemPolicy> file_system = {};
    std::optional<NetworkPolicy> network = {};
};

template <class Visitor>
void fields(Visitor& visit, PermissionProfile& profile) {
    visit.required("type", profile.type);
    visit.optional("file_system", profile.file_system);
    visit.optional("network", profile.network);
}

// The locations of special paths.
struct PolicyContext {
    std::optional<Path> cwd = {};
    std::optional<std::vector<Path>> workspace_roots = {};
};

template <class Visitor>
void fields(Visitor& visit, PolicyContext& context) {
    visit.optional("cwd", context.cwd);
    visit.optional("workspaceRoots", context.workspace_roots);
}

enum class WindowsLevel : std::uint8_t { disabled, restricted_token, elevated, mxc };

// ---------------------------------------------------------------- the form with mode

enum class LaunchMode : std::uint8_t {
    disabled,
    automatic,
    require,
    forbid, // the same as disabled
};

enum class Enforcement : std::uint8_t { require, best_effort };

// A mode with its options. A mode that confines no files has neither roots nor denied paths.
struct SandboxPolicy {
    SandboxMode type = SandboxMode::read_only;
    std::optional<std::vector<Path>> writable_roots = {};
    std::vector<std::string> deny_read = {}; // absolute paths, file URIs, glob patterns
    bool network_access = false;
    std::optional<NetworkPolicy> network = {}; // counts before network_access
    bool shared_tmp = false;
    bool exclude_slash_tmp = false;
    bool exclude_tmpdir_env_var = false;
};

template <class Visitor>
void option_fields(Visitor& visit, SandboxPolicy& policy) {
    visit.optional("writableRoots", policy.writable_roots);
    visit.optional("denyRead", policy.deny_read);
    visit.optional("networkAccess", policy.network_access);
    visit.optional("network", policy.network);
    visit.optional("sharedTmp", policy.shared_tmp);
    visit.optional("excludeSlashTmp", policy.exclude_slash_tmp);
    visit.optional("excludeTmpdirEnvVar", policy.exclude_tmpdir_env_var);
}

template <class Visitor>
void fields(Visitor& visit, SandboxPolicy& policy) {
    visit.required("type", policy.type);
    option_fields(visit, policy);
}

// On the wire this may also be just the name of the mode.
struct PolicyOrMode : SandboxPolicy {};

// Exactly one of `permissions` and `mode` is present. A mode other than disabled has a policy; with
// `require` the policy is not external.
struct SandboxRequest {
    std::optional<PermissionProfile> permissions = {};
    std::optional<PolicyContext> policy_context = {};
    std::optional<Path> cwd = {}; // an older member with the content of policyContext
    std::optional<std::vector<Path>> workspace_roots = {};
    std::optional<Path> user_home_dir = {};                         // not used
    std::optional<std::vector<Path>> temporary_directories = {};    // not used
    bool use_legacy_landlock = false;                               // not used
    std::optional<std::string> windows_sandbox_proxy_settings = {}; // not used
    std::optional<WindowsLevel> windows_sandbox_level = {};         // not used

    std::optional<LaunchMode> mode = {};
    std::optional<PolicyOrMode> policy = {};
    // Replaces the file policy of `policy`, which then has neither roots nor denied paths.
    std::optional<FileSystemPolicy> file_system_policy = {};
    std::optional<NetworkPolicy> network_policy = {}; // replaces the network policy of `policy`
    std::optional<Path> policy_cwd = {};
    bool enforce_managed_network = false;

    std::optional<Enforcement> enforcement = {};
    std::optional<bool> report_writes = {};
    // /tmp is empty, writable and temporary, whatever the entries say about it. Not allowed with
    // `mode`, whose policy decides about /tmp.
    std::optional<bool> private_tmp = {};
    // With the network `hosts`: "NAME", "*.NAME", an address or a prefix, each with ":PORT" or
    // without, which stands for 80 and 443. No others can be reached.
    std::vector<std::string> allow_hosts = {};

    bool is_disabled() const {
        if (permissions) return permissions->type == PermissionsType::disabled;
        return mode == LaunchMode::disabled || mode == LaunchMode::forbid;
    }
};

template <class Visitor>
void fields(Visitor& visit, SandboxRequest& request) {
    visit.optional("permissions", request.permissions);
    visit.optional("policyContext", request.policy_context);
    visit.optional("cwd", request.cwd);
    visit.optional("workspaceRoots", request.workspace_roots);
    visit.optional("userHomeDir", request.user_home_dir);
    visit.optional("temporaryDirectories", request.temporary_directories);
    visit.optional("useLegacyLandlock", request.use_legacy_landlock);
    visit.optional("windowsSandboxProxySettingsMode", request.windows_sandbox_proxy_settings);
    visit.optional("windowsSandboxLevel", request.windows_sandbox_level);
    visit.optional("mode", request.mode);
    visit.optional("policy", request.policy);
    visit.optional("fileSystemPolicy", request.file_system_policy);
    visit.optional("networkPolicy", request.network_policy);
    visit.optional("policyCwd", request.policy_cwd);
    visit.optional("enforceManagedNetwork", request.enforce_managed_network);
    visit.optional("enforcement", request.enforcement);
    visit.optional("reportWrites", request.report_writes);
    visit.optional("privateTmp", request.private_tmp);
    visit.optional("allowHosts", request.allow_hosts);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<core::SandboxMode> {
    static constexpr std::array<std::string_view, 4> list = {"danger-full-access", "read-only",
                                                             "workspace-write", "external-sandbox"};
};

template <>
struct Names<protocol::SandboxType> {
    static constexpr std::array<std::string_view, 2> list = {"none", "linuxSeccomp"};
};

template <>
struct Names<protocol::SpecialKind> {
    static constexpr std::array<std::string_view, 7> list = {
        "root",   "minimal",   "project_roots", "current_working_directory",
        "tmpdir", "slash_tmp", "unknown"};
};

template <>
struct Names<protocol::EntryPathType> {
    static constexpr std::array<std::string_view, 3> list = {"path", "glob_pattern", "special"};
};

template <>
struct Names<protocol::EntryAccess> {
    static constexpr std::array<std::string_view, 4> list = {"read", "write", "deny", "none"};
};

template <>
struct Names<protocol::MissingPath> {
    static constexpr std::array<std::string_view, 1> list = {"skip"};
};

template <>
struct Names<protocol::FileSystemType> {
    static constexpr std::array<std::string_view, 3> list = {"restricted", "unrestricted",
                                                             "external"};
};

template <>
struct Names<protocol::NetworkPolicy> {
    static constexpr std::array<std::string_view, 3> list = {"restricted", "enabled", "hosts"};
};

template <>
struct Names<protocol::PermissionsType> {
    static constexpr std::array<std::string_view, 3> list = {"managed", "disabled", "external"};
};

template <>
struct Names<protocol::WindowsLevel> {
    static constexpr std::array<std::string_view, 4> list = {"disabled", "restricted-token",
                                                             "elevated", "mxc"};
};

template <>
struct Names<protocol::LaunchMode> {
    static constexpr std::array<std::string_view, 4> list = {"disabled", "auto", "require",
                                                             "forbid"};
};

template <>
struct Names<protocol::Enforcement> {
    static constexpr std::array<std::string_view, 2> list = {"require", "best-effort"};
};

} // namespace ew::json
