// The messages of exec/list and exec/terminateAll.
#pragma once

#include "json/types.h"
#include "protocol/input_state.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

enum class ExecProcessState : std::uint8_t { running, exited };

struct ExecProcessInfo {
    std::string process_id = {};
    std::string call_id = {};
    std::optional<std::string> environment = {}; // as in ExecResult
    std::vector<std::string> argv = {};
    std::string workdir = {};
    bool tty = false;
    ExecProcessState state = ExecProcessState::running;
    std::optional<std::int64_t> exit_code = {};
    std::optional<std::string> signal = {};
    std::uint64_t started_at_ms = 0;
    std::uint64_t unread_bytes = 0;             // bytes of output not yet sent in an answer
    std::optional<InputState> input_state = {}; // as in ExecResult
    std::vector<std::int64_t> descendants = {};
};

template <class Visitor>
void fields(Visitor& visit, ExecProcessInfo& info) {
    visit.required("processId", info.process_id);
    visit.required("callId", info.call_id);
    visit.optional("environment", info.environment);
    visit.required("argv", info.argv);
    visit.required("workdir", info.workdir);
    visit.required("tty", info.tty);
    visit.required("state", info.state);
    visit.optional("exitCode", info.exit_code);
    visit.optional("signal", info.signal);
    visit.required("startedAtMs", info.started_at_ms);
    visit.required("unreadBytes", info.unread_bytes);
    visit.optional("inputState", info.input_state);
    visit.required("descendants", info.descendants);
}

enum class ExecCallState : std::uint8_t { asking, starting, running, asking_to_retry };

// A call of exec/command without an answer so far.
struct ExecCallInfo {
    std::string call_id = {};
    std::optional<std::string> environment = {};
    ExecCallState state = ExecCallState::asking;
    std::vector<std::string> argv = {};
    std::optional<std::string> process_id = {};
};

template <class Visitor>
void fields(Visitor& visit, ExecCallInfo& info) {
    visit.required("callId", info.call_id);
    visit.optional("environment", info.environment);
    visit.required("state", info.state);
    visit.required("argv", info.argv);
    visit.optional("processId", info.process_id);
}

struct ExecListParams {
    static constexpr bool refuses_others = true;
    std::optional<std::string> environment = {}; // absent: all environments
};

template <class Visitor>
void fields(Visitor& visit, ExecListParams& params) {
    visit.optional("environment", params.environment);
}

struct ExecListResult {
    std::vector<ExecProcessInfo> processes = {};
    std::vector<ExecCallInfo> calls = {};
};

template <class Visitor>
void fields(Visitor& visit, ExecListResult& result) {
    visit.required("processes", result.processes);
    visit.required("calls", result.calls);
}

struct ExecTerminateAllParams {
    static constexpr bool refuses_others = true;
    std::optional<std::string> environment = {}; // absent: all environments
    std::optional<std::uint64_t> grace_ms = {};
};

template <class Visitor>
void fields(Visitor& visit, ExecTerminateAllParams& params) {
    visit.optional("environment", params.environment);
    visit.optional("graceMs", params.grace_ms);
}

struct ExecTerminateAllResult {
    std::vector<std::string> terminated = {}; // ids of the processes that were running
};

template <class Visitor>
void fields(Visitor& visit, ExecTerminateAllResult& result) {
    visit.required("terminated", result.terminated);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::ExecProcessState> {
    static constexpr std::array<std::string_view, 2> list = {"running", "exited"};
};

template <>
struct Names<protocol::ExecCallState> {
    static constexpr std::array<std::string_view, 4> list = {"asking", "starting", "running",
                                                             "askingToRetry"};
};

} // namespace ew::json
