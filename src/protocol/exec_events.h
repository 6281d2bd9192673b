// What a client is told of a command while it runs, beside its answers: exec/begin, exec/end and
// those between.
#pragma once

#include "json/types.h"
#include "protocol/exec.h"
#include "protocol/input_state.h"
#include "protocol/process_output.h"
#include "protocol/sandbox.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

enum class ExecMode : std::uint8_t {
    shell,             // a script, with pipes
    interactive_shell, // a script, in a terminal
    direct,            // an argv
};

struct ExecBeginEvent {
    std::string call_id = {};
    std::string process_id = {};
    std::optional<std::string> environment = {}; // as in ExecResult
    ExecMode mode = ExecMode::shell;
    std::vector<std::string> argv = {};
    std::string program = {};
    std::string workdir = {};
    std::vector<std::vector<std::string>> commands = {}; // the commands found in the script
    std::string decided_by = {};
    std::optional<std::string> rule = {};
    Confinement sandbox = {};
    std::vector<std::string> dropped_env = {}; // names of variables
};

template <class Visitor>
void fields(Visitor& visit, ExecBeginEvent& event) {
    visit.required("callId", event.call_id);
    visit.required("processId", event.process_id);
    visit.optional("environment", event.environment);
    visit.required("mode", event.mode);
    visit.required("argv", event.argv);
    visit.required("program", event.program);
    visit.required("workdir", event.workdir);
    visit.required("commands", event.commands);
    visit.required("decidedBy", event.decided_by);
    visit.optional("rule", event.rule);
    visit.required("sandbox", event.sandbox);
    visit.required("droppedEnv", event.dropped_env);
}

struct ExecAttemptEvent {
    std::string call_id = {};
    std::uint64_t n = 1;
    SandboxType confinement = SandboxType::none;
    std::string reason = {};
};

template <class Visitor>
void fields(Visitor& visit, ExecAttemptEvent& event) {
    visit.required("callId", event.call_id);
    visit.required("n", event.n);
    visit.required("confinement", event.confinement);
    visit.required("reason", event.reason);
}

struct ExecOutputDeltaEvent {
    std::string call_id = {};
    std::string process_id = {};
    std::uint64_t seq = 0;
    StreamName stream = StreamName::out;
    std::string delta = {};
};

template <class Visitor>
void fields(Visitor& visit, ExecOutputDeltaEvent& event) {
    visit.required("callId", event.call_id);
    visit.required("processId", event.process_id);
    visit.required("seq", event.seq);
    visit.required("stream", event.stream);
    visit.required("delta", event.delta);
}

struct ExecInteractionEvent {
    std::string call_id = {};
    std::string process_id = {};
    std::string stdin_text = {}; // stars if the terminal did not show it
};

template <class Visitor>
void fields(Visitor& visit, ExecInteractionEvent& event) {
    visit.required("callId", event.call_id);
    visit.required("processId", event.process_id);
    visit.required("stdin", event.stdin_text);
}

struct ExecInputStateEvent {
    std::string call_id = {};
    std::string process_id = {};
    InputState input_state = {};
};

template <class Visitor>
void fields(Visitor& visit, ExecInputStateEvent& event) {
    visit.required("callId", event.call_id);
    visit.required("processId", event.process_id);
    visit.required("inputState", event.input_state);
}

enum class ExecStatus : std::uint8_t {
    completed, // exit code 0
    failed,    // any other end
};

struct ExecEndEvent {
    std::string call_id = {};
    std::string process_id = {};
    std::optional<std::string> environment = {}; // as in ExecResult
    std::vector<std::string> argv = {};
    std::string workdir = {};
    ExecMode mode = ExecMode::shell;
    std::vector<std::vector<std::string>> commands = {};
    ExecStatus status = ExecStatus::completed;
    std::int64_t exit_code = 0;
    std::optional<std::string> signal = {};
    bool timed_out = false;
    std::uint64_t duration_ms = 0;
    std::string stdout_text = {};
    std::string stderr_text = {};
    std::string aggregated_output = {};
    std::string formatted_output = {}; // limited to the tokens of the call that started it
    std::uint64_t omitted_bytes = 0;   // bytes missing from the aggregated output
    Confinement sandbox = {};
    std::vector<Denial> denials = {};
    std::optional<std::uint64_t> denial_count = {}; // of all denials; absent without a sandbox
    std::optional<std::string> sandbox_hint = {};
    std::optional<std::vector<std::string>> limit_hits = {};
    Usage usage = {};
    std::optional<ExecFailure> failure = {}; // it can no longer be reached, so its end is unknown
};

template <class Visitor>
void fields(Visitor& visit, ExecEndEvent& event) {
    visit.required("callId", event.call_id);
    visit.required("processId", event.process_id);
    visit.optional("environment", event.environment);
    visit.required("argv", event.argv);
    visit.required("workdir", event.workdir);
    visit.required("mode", event.mode);
    visit.required("commands", event.commands);
    visit.required("status", event.status);
    visit.required("exitCode", event.exit_code);
    visit.optional("signal", event.signal);
    visit.required("timedOut", event.timed_out);
    visit.required("durationMs", event.duration_ms);
    visit.required("stdout", event.stdout_text);
    visit.required("stderr", event.stderr_text);
    visit.required("aggregatedOutput", event.aggregated_output);
    visit.required("formattedOutput", event.formatted_output);
    visit.required("omittedBytes", event.omitted_bytes);
    visit.required("sandbox", event.sandbox);
    visit.required("denials", event.denials);
    visit.optional("denialCount", event.denial_count);
    visit.optional("sandboxHint", event.sandbox_hint);
    visit.optional("limitHits", event.limit_hits);
    visit.required("usage", event.usage);
    visit.optional("failure", event.failure);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::ExecMode> {
    static constexpr std::array<std::string_view, 3> list = {"shell", "interactiveShell", "direct"};
};

template <>
struct Names<protocol::ExecStatus> {
    static constexpr std::array<std::string_view, 2> list = {"completed", "failed"};
};

} // namespace ew::json
