// The messages of process/start. Each struct of the protocol lists its members once, in fields();
// schema/types.json describes them.
#pragma once

#include "json/types.h"
#include "protocol/sandbox.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

using json::Bytes;
using json::StringMap;

// The length of the longest name that a client may choose, as of a process or a call. The server
// stores these names.
constexpr std::uint64_t longest_name = 1024; // bytes

struct WindowSize {
    std::uint64_t rows = 24;
    std::uint64_t cols = 80;
};

template <class Visitor>
void fields(Visitor& visit, WindowSize& size) {
    constexpr Bounds sixteen_bits = {1, 65535};
    visit.required("rows", size.rows, sixteen_bits);
    visit.required("cols", size.cols, sixteen_bits);
}

enum class Inherit : std::uint8_t { all, core, none };

struct EnvPolicy {
    Inherit inherit = Inherit::all;
    bool ignore_default_excludes = false;
    std::vector<std::string> exclude = {};
    StringMap set = {};
    std::vector<std::string> include_only = {};
};

template <class Visitor>
void fields(Visitor& visit, EnvPolicy& policy) {
    visit.required("inherit", policy.inherit);
    visit.required("ignoreDefaultExcludes", policy.ignore_default_excludes);
    visit.required("exclude", policy.exclude);
    visit.required("set", policy.set);
    visit.required("includeOnly", policy.include_only);
}

struct Limits {
    std::optional<std::uint64_t> cpu_seconds = {};
    std::optional<std::uint64_t> address_space_bytes = {};
    std::optional<std::uint64_t> file_size_bytes = {};
    std::optional<std::uint64_t> open_files = {};
    std::optional<std::uint64_t> processes = {};
    std::optional<std::uint64_t> core_bytes = {};
};

template <class Visitor>
void fields(Visitor& visit, Limits& limits) {
    visit.optional("cpuSeconds", limits.cpu_seconds);
    visit.optional("addressSpaceBytes", limits.address_space_bytes);
    visit.optional("fileSizeBytes", limits.file_size_bytes);
    visit.optional("openFiles", limits.open_files);
    visit.optional("processes", limits.processes);
    visit.optional("coreBytes", limits.core_bytes);
}

// An object of which only the presence matters.
struct NetworkRequest {};

// Codex's settings of a proxy that the server is to start for one process. Unknown members are
// refused: they could ask for more than a network by host keeps.
struct NetworkProxySettings {
    static constexpr bool refuses_others = true;
    bool enabled = false;
    bool enable_socks5 = false;
    bool enable_socks5_udp = false;
    bool allow_upstream_proxy = false;
    bool allow_all_unix_sockets = false;
    std::string mode = {};                      // "full" or "limited"
    std::optional<StringMap> domains = {};      // pattern: "allow", "deny" or "none"
    std::optional<StringMap> unix_sockets = {}; // path: "allow" or "none"
    bool allow_local_binding = false;
};

template <class Visitor>
void fields(Visitor& visit, NetworkProxySettings& settings) {
    visit.required("enabled", settings.enabled);
    visit.optional("enableSocks5", settings.enable_socks5);
    visit.optional("enableSocks5Udp", settings.enable_socks5_udp);
    visit.optional("allowUpstreamProxy", settings.allow_upstream_proxy);
    visit.optional("dangerouslyAllowAllUnixSockets", settings.allow_all_unix_sockets);
    visit.required("mode", settings.mode);
    visit.optional("domains", settings.domains);
    visit.optional("unixSockets", settings.unix_sockets);
    visit.optional("allowLocalBinding", settings.allow_local_binding);
}

struct NetworkProxyRequest {
    static constexpr bool refuses_others = true;
    NetworkProxySettings proxy = {};
    std::optional<NetworkRequest> audit_metadata = {};     // not used
    std::optional<std::string> environment_id = {};        // not used
    std::optional<std::string> execution_id = {};          // not used
    std::optional<std::uint64_t> decision_timeout_ms = {}; // for network/policyRequest
};

template <class Visitor>
void fields(Visitor& visit, NetworkProxyRequest& request) {
    visit.required("proxy", request.proxy);
    visit.optional("auditMetadata", request.audit_metadata);
    visit.optional("environmentId", request.environment_id);
    visit.optional("executionId", request.execution_id);
    visit.optional("policyDecisionTimeoutMs", request.decision_timeout_ms);
}

struct StartParams {
    std::string process_id = {};
    std::vector<std::string> argv = {};
    Path cwd = {};
    StringMap env = {};
    bool tty = false;
    bool pipe_stdin = false;
    std::optional<std::string> arg0 = {};
    std::optional<EnvPolicy> env_policy = {};
    std::optional<SandboxRequest> sandbox = {};
    bool enforce_managed_network = false;
    std::optional<NetworkRequest> managed_network = {};
    std::optional<NetworkProxyRequest> network_proxy = {};
    std::optional<WindowSize> size = {};
    std::optional<std::uint64_t> timeout_ms = {};
    std::uint64_t grace_ms = 0;
    std::optional<Limits> limits = {};
    bool answer_queries = false; // of the program to its terminal
};

template <class Visitor>
void fields(Visitor& visit, StartParams& params) {
    constexpr Bounds at_least_one = {1};
    visit.required("processId", params.process_id, Bounds{0, longest_name});
    visit.required("argv", params.argv, at_least_one);
    visit.required("cwd", params.cwd);
    visit.required("env", params.env);
    visit.required("tty", params.tty);
    visit.optional("pipeStdin", params.pipe_stdin);
    visit.optional("arg0", params.arg0);
    visit.optional("envPolicy", params.env_policy);
    visit.optional("sandbox", params.sandbox);
    visit.optional("enforceManagedNetwork", params.enforce_managed_network);
    visit.optional("managedNetwork", params.managed_network);
    visit.optional("networkProxy", params.network_proxy);
    visit.optional("size", params.size);
    visit.optional("timeoutMs", params.timeout_ms);
    visit.optional("graceMs", params.grace_ms);
    visit.optional("limits", params.limits);
    visit.optional("answerQueries", params.answer_queries);
}

struct StartResult {
    std::string process_id = {};
    SandboxType sandbox_type = SandboxType::none;
    std::optional<std::vector<std::string>> missing = {}; // guarantees; absent without a sandbox
    std::optional<std::vector<std::string>> notes = {};   // absent without a sandbox or notes
};

template <class Visitor>
void fields(Visitor& visit, StartResult& result) {
    visit.required("processId", result.process_id);
    visit.required("sandboxType", result.sandbox_type);
    visit.optional("missing", result.missing);
    visit.optional("notes", result.notes);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::Inherit> {
    static constexpr std::array<std::string_view, 3> list = {"all", "core", "none"};
};

} // namespace ew::json
