// The messages of exec/command, exec/writeStdin and exec/wait: commands for agents, as text.
#pragma once

#include "json/types.h"
#include "protocol/input_state.h"
#include "protocol/permissions.h"
#include "protocol/process_output.h"
#include "protocol/process_start.h"
#include "protocol/sandbox.h"
#include "protocol/until.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

// The maximum number of tokens in an answer. A process keeps that much of its output.
constexpr std::uint64_t most_output_tokens = 262144;

enum class OnCancel : std::uint8_t { keep, terminate };

enum class ResultFormat : std::uint8_t { full, model };

struct ExecCommandParams {
    static constexpr bool refuses_others = true;
    std::optional<std::string> command = {}; // a script for the shell; either this or argv
    std::optional<std::vector<std::string>> argv = {};
    std::optional<std::string> environment = {}; // absent: the default environment
    std::optional<std::string> workdir = {};     // empty counts as absent
    std::optional<std::string> cwd = {};         // another name of workdir; decode() moves it there
    std::optional<std::string> shell = {};
    std::optional<bool> login = {};
    bool tty = false;
    std::optional<WindowSize> size = {};
    bool answer_queries = false;                // of the program to its terminal
    std::optional<std::string> stdin_text = {}; // written to stdin, which is then closed
    std::optional<std::uint64_t> yield_time_ms = {};
    std::optional<std::uint64_t> quiet_ms = {};
    std::optional<Until> until = {};
    OnCancel on_cancel = OnCancel::keep;
    std::optional<std::uint64_t> max_output_tokens = {};
    std::optional<std::uint64_t> timeout_ms = {}; // 0: no timeout
    SandboxPermissions sandbox_permissions = SandboxPermissions::use_default;
    std::optional<AdditionalPermissions> additional_permissions = {};
    std::optional<std::string> justification = {};
    std::optional<std::vector<std::string>> prefix_rule = {};
    StringMap env = {};
    ResultFormat format = ResultFormat::full;
    std::optional<std::string> call_id = {}; // absent: the id of the request
};

template <class Visitor>
void fields(Visitor& visit, ExecCommandParams& params) {
    constexpr Bounds at_least_one = {1};
    visit.optional("command", params.command);
    visit.optional("argv", params.argv, at_least_one);
    visit.optional("environment", params.environment);
    visit.optional("workdir", params.workdir);
    visit.optional("cwd", params.cwd);
    visit.optional("shell", params.shell);
    visit.optional("login", params.login);
    visit.optional("tty", params.tty);
    visit.optional("size", params.size);
    visit.optional("answerQueries", params.answer_queries);
    visit.optional("stdin", params.stdin_text);
    visit.optional("yieldTimeMs", params.yield_time_ms);
    visit.optional("quietMs", params.quiet_ms);
    visit.optional("until", params.until);
    visit.optional("onCancel", params.on_cancel);
    visit.optional("maxOutputTokens", params.max_output_tokens);
    visit.optional("timeoutMs", params.timeout_ms);
    visit.optional("sandboxPermissions", params.sandbox_permissions);
    visit.optional("additionalPermissions", params.additional_permissions);
    visit.optional("justification", params.justification, Bounds{0, longest_justification});
    visit.optional("prefixRule", params.prefix_rule);
    visit.optional("env", params.env);
    visit.optional("format", params.format);
    visit.optional("callId", params.call_id, Bounds{0, longest_name});
}

struct ExecWriteParams {
    static constexpr bool refuses_others = true;
    std::string process_id = {};
    std::string chars = {};
    std::optional<std::string> paste = {}; // typed after the chars
    std::vector<std::string> keys = {};    // names of keys, typed after the paste
    bool close_stdin = false;
    std::optional<std::uint64_t> yield_time_ms = {};
    bool no_timeout = false;
    std::optional<std::uint64_t> quiet_ms = {};
    std::optional<Until> until = {};
    std::optional<std::uint64_t> max_output_tokens = {};
    ResultFormat format = ResultFormat::full;
};

template <class Visitor>
void fields(Visitor& visit, ExecWriteParams& params) {
    visit.required("processId", params.process_id);
    visit.optional("chars", params.chars);
    visit.optional("paste", params.paste);
    visit.optional("keys", params.keys);
    visit.optional("closeStdin", params.close_stdin);
    visit.optional("yieldTimeMs", params.yield_time_ms);
    visit.optional("noTimeout", params.no_timeout);
    visit.optional("quietMs", params.quiet_ms);
    visit.optional("until", params.until);
    visit.optional("maxOutputTokens", params.max_output_tokens);
    visit.optional("format", params.format);
}

struct ExecWaitParams {
    static constexpr bool refuses_others = true;
    std::string process_id = {};
    std::optional<Until> until = {};              // absent: only the end of the program
    std::optional<std::uint64_t> timeout_ms = {}; // absent or 0: no limit
    std::optional<std::uint64_t> max_output_tokens = {};
    ResultFormat format = ResultFormat::full;
};

template <class Visitor>
void fields(Visitor& visit, ExecWaitParams& params) {
    visit.required("processId", params.process_id);
    visit.optional("until", params.until);
    visit.optional("timeoutMs", params.timeout_ms);
    visit.optional("maxOutputTokens", params.max_output_tokens);
    visit.optional("format", params.format);
}

struct Timings {
    std::uint64_t approval_ms = 0; // time that a person took to answer
    std::uint64_t spawn_ms = 0;    // from the decision until the program runs
    std::uint64_t run_ms = 0;      // from then until this answer or the exit
};

template <class Visitor>
void fields(Visitor& visit, Timings& timings) {
    visit.required("approvalMs", timings.approval_ms);
    visit.required("spawnMs", timings.spawn_ms);
    visit.required("runMs", timings.run_ms);
}

enum class ExecState : std::uint8_t {
    completed,
    running,
    failed,       // it could not start, or can no longer be reached
    input_needed, // it runs, and waits for input that its terminal does not show, as a password
};

// Why a program could not start, or can no longer be reached.
struct ExecFailure {
    std::string kind = {};
    std::string message = {};
    std::optional<std::string> hint = {};
    std::optional<std::string> path = {};
};

template <class Visitor>
void fields(Visitor& visit, ExecFailure& failure) {
    visit.required("kind", failure.kind);
    visit.required("message", failure.message);
    visit.optional("hint", failure.hint);
    visit.optional("path", failure.path);
}

// A person replaced the command of the call.
struct ExecEdit {
    std::vector<std::string> from = {}; // the argv that was asked for
    std::vector<std::string> to = {};   // the argv that took its place
};

template <class Visitor>
void fields(Visitor& visit, ExecEdit& edit) {
    visit.required("from", edit.from);
    visit.required("to", edit.to);
}

struct ExecResult {
    std::string call_id = {}; // the call that started the process
    std::string chunk_id = {};
    std::optional<std::string> environment = {}; // where it runs; absent: on this machine
    ExecState state = ExecState::completed;
    std::uint64_t wall_time_ms = 0;
    std::uint64_t yield_time_ms = 0; // how long this call wanted to wait; 0: without limit
    Timings timings = {};
    std::string output = {};
    std::uint64_t original_token_count = 0;
    std::uint64_t omitted_bytes = 0;
    std::optional<std::string> process_id = {}; // set while it runs
    std::optional<std::int64_t> exit_code = {};
    std::optional<std::string> signal = {};
    bool timed_out = false;
    Confinement sandbox = {};
    std::vector<Denial> denials = {};
    std::optional<std::uint64_t> denial_count = {}; // of all denials; absent without a sandbox
    std::optional<std::string> sandbox_hint = {};
    std::optional<std::vector<std::string>> limit_hits = {};
    std::optional<Usage> usage = {};
    std::optional<ExecFailure> failure = {};
    std::optional<ExecEdit> edited = {};
    std::optional<WaitEnd> wait_end = {};       // for a request with until
    std::optional<InputState> input_state = {}; // absent if it has ended or runs elsewhere
    std::optional<std::string> notice = {};
    std::optional<std::string> text = {}; // for format "model"
};

template <class Visitor>
void fields(Visitor& visit, ExecResult& result) {
    visit.required("callId", result.call_id);
    visit.required("chunkId", result.chunk_id);
    visit.optional("environment", result.environment);
    visit.required("state", result.state);
    visit.required("wallTimeMs", result.wall_time_ms);
    visit.required("yieldTimeMs", result.yield_time_ms);
    visit.required("timings", result.timings);
    visit.required("output", result.output);
    visit.required("originalTokenCount", result.original_token_count);
    visit.required("omittedBytes", result.omitted_bytes);
    visit.optional("processId", result.process_id);
    visit.optional("exitCode", result.exit_code);
    visit.optional("signal", result.signal);
    visit.required("timedOut", result.timed_out);
    visit.required("sandbox", result.sandbox);
    visit.required("denials", result.denials);
    visit.optional("denialCount", result.denial_count);
    visit.optional("sandboxHint", result.sandbox_hint);
    visit.optional("limitHits", result.limit_hits);
    visit.optional("usage", result.usage);
    visit.optional("failure", result.failure);
    visit.optional("edited", result.edited);
    visit.optional("waitEnd", result.wait_end);
    visit.optional("inputState", result.input_state);
    visit.optional("notice", result.notice);
    visit.optional("text", result.text);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::OnCancel> {
    static constexpr std::array<std::string_view, 2> list = {"keep", "terminate"};
};

template <>
struct Names<protocol::ResultFormat> {
    static constexpr std::array<std::string_view, 2> list = {"full", "model"};
};

template <>
struct Names<protocol::ExecState> {
    static constexpr std::array<std::string_view, 4> list = {"completed", "running", "failed",
                                                             "inputNeeded"};
};

} // namespace ew::json
