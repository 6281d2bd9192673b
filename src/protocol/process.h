// The messages of process/*. Each struct lists its members once, in fields(); schema/types.json
// describes them.
#pragma once

#include "json/types.h"
#include "protocol/input_state.h"
#include "protocol/sandbox.h"
#include "protocol/until.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

using json::Bytes;
using json::StringMap;

// The length of the longest name that a client may choose. The server stores these names.
constexpr std::uint64_t longest_name = 1024; // bytes

struct Empty {};

template <class Visitor>
void fields(Visitor&, Empty&) {}

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

struct ReadParams {
    std::string process_id = {};
    std::optional<std::uint64_t> after_seq = {};
    std::optional<std::uint64_t> max_bytes = {};
    std::optional<std::uint64_t> wait_ms = {};
    std::optional<Until> until = {};
};

template <class Visitor>
void fields(Visitor& visit, ReadParams& params) {
    visit.required("processId", params.process_id);
    visit.optional("afterSeq", params.after_seq);
    visit.optional("maxBytes", params.max_bytes);
    visit.optional("waitMs", params.wait_ms);
    visit.optional("until", params.until);
}

enum class StreamName : std::uint8_t { out, err, pty };

struct OutputChunk {
    std::uint64_t seq = 0;
    StreamName stream = StreamName::out;
    Bytes chunk = {};
};

template <class Visitor>
void fields(Visitor& visit, OutputChunk& chunk) {
    visit.required("seq", chunk.seq);
    visit.required("stream", chunk.stream);
    visit.required("chunk", chunk.chunk);
}

struct Usage {
    std::uint64_t wall_ms = 0;
    std::uint64_t user_ms = 0;
    std::uint64_t system_ms = 0;
    std::uint64_t peak_rss_bytes = 0;
};

template <class Visitor>
void fields(Visitor& visit, Usage& usage) {
    visit.required("wallMs", usage.wall_ms);
    visit.required("userMs", usage.user_ms);
    visit.required("systemMs", usage.system_ms);
    visit.required("peakRssBytes", usage.peak_rss_bytes);
}

struct ReadResult {
    std::vector<OutputChunk> chunks = {};
    std::uint64_t next_seq = 1;
    bool exited = false;
    std::optional<std::int64_t> exit_code = {};
    bool closed = false;
    std::optional<std::string> failure = {};
    bool sandbox_denied = false;
    std::uint64_t first_seq = 1;
    std::uint64_t lost_bytes = 0;
    std::optional<std::string> signal = {};
    bool timed_out = false;
    std::optional<Usage> usage = {};
    std::optional<std::vector<Denial>> denials = {}; // this and the next two: absent without a
    std::optional<std::uint64_t> denial_count = {};  // sandbox, and before the process has ended
    std::optional<std::string> sandbox_hint = {};
    std::optional<std::vector<std::string>> limit_hits = {};
    std::optional<WaitEnd> wait_end = {}; // of a request with until
};

template <class Visitor>
void fields(Visitor& visit, ReadResult& result) {
    visit.required("chunks", result.chunks);
    visit.required("nextSeq", result.next_seq);
    visit.required("exited", result.exited);
    visit.required("exitCode", result.exit_code);
    visit.required("closed", result.closed);
    visit.required("failure", result.failure);
    visit.required("sandboxDenied", result.sandbox_denied);
    visit.required("firstSeq", result.first_seq);
    visit.required("lostBytes", result.lost_bytes);
    visit.optional("signal", result.signal);
    visit.optional("timedOut", result.timed_out);
    visit.optional("usage", result.usage);
    visit.optional("denials", result.denials);
    visit.optional("denialCount", result.denial_count);
    visit.optional("sandboxHint", result.sandbox_hint);
    visit.optional("limitHits", result.limit_hits);
    visit.optional("waitEnd", result.wait_end);
}

struct WriteParams {
    std::string process_id = {};
    Bytes chunk = {};
    std::optional<std::string> paste = {}; // typed after the chunk
    std::vector<std::string> keys = {};    // names of keys, typed after the paste
    std::optional<std::string> write_id = {};
    bool close_stdin = false;
};

template <class Visitor>
void fields(Visitor& visit, WriteParams& params) {
    constexpr Bounds not_empty = {1, longest_name};
    visit.required("processId", params.process_id);
    visit.required("chunk", params.chunk);
    visit.optional("paste", params.paste);
    visit.optional("keys", params.keys);
    visit.optional("writeId", params.write_id, not_empty);
    visit.optional("closeStdin", params.close_stdin);
}

enum class WriteStatus : std::uint8_t { accepted, unknown_process, stdin_closed };

struct WriteResult {
    WriteStatus status = WriteStatus::accepted;
    std::optional<std::string> notice = {};
};

template <class Visitor>
void fields(Visitor& visit, WriteResult& result) {
    visit.required("status", result.status);
    visit.optional("notice", result.notice);
}

struct CloseStdinParams {
    std::string process_id = {};
};

template <class Visitor>
void fields(Visitor& visit, CloseStdinParams& params) {
    visit.required("processId", params.process_id);
}

enum class SignalName : std::uint8_t {
    interrupt,
    terminate,
    kill,
    hangup,
    quit,
    usr1,
    usr2,
    stop,
    go_on,
    window_change
};

enum class SignalScope : std::uint8_t { group, tree, leader };

struct SignalParams {
    std::string process_id = {};
    SignalName signal = SignalName::interrupt;
    SignalScope scope = SignalScope::group;
};

template <class Visitor>
void fields(Visitor& visit, SignalParams& params) {
    visit.required("processId", params.process_id);
    visit.required("signal", params.signal);
    visit.optional("scope", params.scope);
}

struct TerminateParams {
    std::string process_id = {};
    std::optional<std::uint64_t> grace_ms = {};
};

template <class Visitor>
void fields(Visitor& visit, TerminateParams& params) {
    visit.required("processId", params.process_id);
    visit.optional("graceMs", params.grace_ms);
}

struct TerminateResult {
    bool running = false;
    std::vector<std::int64_t> survivors = {};
};

template <class Visitor>
void fields(Visitor& visit, TerminateResult& result) {
    visit.required("running", result.running);
    visit.optional("survivors", result.survivors);
}

struct ResizeParams {
    std::string process_id = {};
    WindowSize size = {};
};

template <class Visitor>
void fields(Visitor& visit, ResizeParams& params) {
    visit.required("processId", params.process_id);
    visit.required("size", params.size);
}

enum class ProcessState : std::uint8_t { starting, running, exited, closed };

struct ProcessInfo {
    std::string process_id = {};
    std::optional<std::string> environment = {}; // where it runs; absent: on this machine
    std::int64_t pid = 0;                        // 0 in another environment
    std::vector<std::string> argv = {};
    std::string cwd = {};
    bool tty = false;
    ProcessState state = ProcessState::starting;
    std::optional<std::int64_t> exit_code = {};
    std::optional<std::string> signal = {};
    std::uint64_t started_at_ms = 0;
    std::uint64_t next_seq = 1;
    std::optional<InputState> input_state = {}; // absent if it does not run on this machine
    std::vector<std::int64_t> descendants = {};
};

template <class Visitor>
void fields(Visitor& visit, ProcessInfo& info) {
    visit.required("processId", info.process_id);
    visit.optional("environment", info.environment);
    visit.required("pid", info.pid);
    visit.required("argv", info.argv);
    visit.required("cwd", info.cwd);
    visit.required("tty", info.tty);
    visit.required("state", info.state);
    visit.optional("exitCode", info.exit_code);
    visit.optional("signal", info.signal);
    visit.required("startedAtMs", info.started_at_ms);
    visit.required("nextSeq", info.next_seq);
    visit.optional("inputState", info.input_state);
    visit.required("descendants", info.descendants);
}

struct ListResult {
    std::vector<ProcessInfo> processes = {};
};

template <class Visitor>
void fields(Visitor& visit, ListResult& result) {
    visit.required("processes", result.processes);
}

struct OutputEvent {
    std::string process_id = {};
    std::uint64_t seq = 0;
    StreamName stream = StreamName::out;
    Bytes chunk = {};
};

template <class Visitor>
void fields(Visitor& visit, OutputEvent& event) {
    visit.required("processId", event.process_id);
    visit.required("seq", event.seq);
    visit.required("stream", event.stream);
    visit.required("chunk", event.chunk);
}

struct ExitedEvent {
    std::string process_id = {};
    std::uint64_t seq = 0;
    std::int64_t exit_code = 0;
    bool sandbox_denied = false;
    std::optional<std::string> signal = {};
    bool timed_out = false;
    Usage usage = {};
    std::optional<std::vector<Denial>> denials = {}; // this and the next two: only of a sandboxed
    std::optional<std::uint64_t> denial_count = {};  // process
    std::optional<std::string> sandbox_hint = {};
    std::optional<std::vector<std::string>> limit_hits = {};
};

template <class Visitor>
void fields(Visitor& visit, ExitedEvent& event) {
    visit.required("processId", event.process_id);
    visit.required("seq", event.seq);
    visit.required("exitCode", event.exit_code);
    visit.required("sandboxDenied", event.sandbox_denied);
    visit.optional("signal", event.signal);
    visit.optional("timedOut", event.timed_out);
    visit.required("usage", event.usage);
    visit.optional("denials", event.denials);
    visit.optional("denialCount", event.denial_count);
    visit.optional("sandboxHint", event.sandbox_hint);
    visit.optional("limitHits", event.limit_hits);
}

struct ClosedEvent {
    std::string process_id = {};
    std::uint64_t seq = 0;
};

template <class Visitor>
void fields(Visitor& visit, ClosedEvent& event) {
    visit.required("processId", event.process_id);
    visit.required("seq", event.seq);
}

struct WarningEvent {
    std::string kind = {};
    std::string message = {};
    std::optional<std::uint64_t> live = {};
    std::optional<std::uint64_t> limit = {};
};

template <class Visitor>
void fields(Visitor& visit, WarningEvent& event) {
    visit.required("kind", event.kind);
    visit.required("message", event.message);
    visit.optional("live", event.live);
    visit.optional("limit", event.limit);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::Inherit> {
    static constexpr std::array<std::string_view, 3> list = {"all", "core", "none"};
};

template <>
struct Names<protocol::StreamName> {
    static constexpr std::array<std::string_view, 3> list = {"stdout", "stderr", "pty"};
};

template <>
struct Names<protocol::WriteStatus> {
    static constexpr std::array<std::string_view, 3> list = {"accepted", "unknownProcess",
                                                             "stdinClosed"};
};

// Each signal has two names: the one that is sent, and the system's, in the same order.
template <>
struct Names<protocol::SignalName> {
    static constexpr std::array<std::string_view, 20> list = {
        "interrupt", "terminate", "kill",         "hangup",  "quit",    "usr1",    "usr2",
        "stop",      "continue",  "windowChange", "SIGINT",  "SIGTERM", "SIGKILL", "SIGHUP",
        "SIGQUIT",   "SIGUSR1",   "SIGUSR2",      "SIGSTOP", "SIGCONT", "SIGWINCH"};
};

template <>
struct Names<protocol::SignalScope> {
    static constexpr std::array<std::string_view, 3> list = {"group", "tree", "leader"};
};

template <>
struct Names<protocol::ProcessState> {
    static constexpr std::array<std::string_view, 4> list = {"starting", "running", "exited",
                                                             "closed"};
};

} // namespace ew::json
