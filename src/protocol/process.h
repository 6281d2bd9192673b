// What is done with a process that was started: the other messages of process/*.
#pragma once

#include "json/types.h"
#include "protocol/input_state.h"
#include "protocol/process_start.h"
#include "protocol/sandbox.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

struct Empty {};

template <class Visitor>
void fields(Visitor&, Empty&) {}

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
