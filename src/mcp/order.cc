#include "mcp/order.h"

#include "mcp/arguments.h"
#include "mcp/messages.h"
#include "protocol/exec.h"
#include "protocol/patch.h"
#include "protocol/permissions.h"
#include "protocol/policy.h"
#include "protocol/process.h"
#include "protocol/process_output.h"
#include "protocol/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::mcp {

namespace {

constexpr std::uint64_t background_ms = 1'000; // for a program that prints all the time
constexpr std::uint64_t quiet_ms = 150;        // after output, until an answer is given early
constexpr std::uint64_t usual_send_ms = 1'000;
constexpr std::uint64_t usual_grace_ms = 500;
constexpr std::uint64_t enough_bytes = 4'000;  // of new output, for an answer without silence
constexpr std::uint64_t page_bytes = 32 << 10; // of output that is read for one page
// Of output in an answer of the server: several times what a tool shows (most_output), because
// escape sequences are taken out of it.
constexpr std::uint64_t most_tokens = 16'000;

Error bad(std::string_view argument, std::string_view expected) {
    return {ErrorKind::invalid_params, fmt::format("{}: expected {}", argument, expected), "",
            std::string(argument)};
}

template <class Arguments>
Result<Arguments> decoded(const json::Value* value) {
    Arguments arguments;
    if (std::optional<json::Mismatch> wrong = read(value, arguments))
        return bad(wrong->path.empty() ? "arguments" : wrong->path, wrong->expected);
    return arguments;
}

template <class Arguments>
Result<void> check_command_of(const Arguments& arguments) {
    if (arguments.command.has_value() == arguments.argv.has_value())
        return bad("command", "to be present, or argv, and not both");
    return {};
}

std::optional<std::string> unless_empty(std::optional<std::string> text) {
    return text && text->empty() ? std::nullopt : std::move(text);
}

// A call that asks for more than the sandbox gives is a question to a person, as in exec/command.
void ask_for_more(protocol::ExecCommandParams& params, const RunArguments& arguments) {
    if (!arguments.network && arguments.write_paths.empty()) return;
    params.sandbox_permissions = protocol::SandboxPermissions::with_additional_permissions;
    protocol::AdditionalPermissions& more = params.additional_permissions.emplace();
    if (arguments.network) more.network = protocol::NetworkPermission{true};
    if (!arguments.write_paths.empty())
        more.file_system = protocol::FileSystemPermission{{}, arguments.write_paths};
}

// Returns what ends the wait of the call before the end of its program.
std::optional<protocol::Until> until_of(RunArguments& arguments) {
    protocol::Until until;
    if (auto text = unless_empty(std::move(arguments.until_text)))
        until.pattern = protocol::UntilPattern{std::move(text), {}};
    until.port = arguments.until_port;
    return until.pattern || until.port ? std::optional(std::move(until)) : std::nullopt;
}

Result<Order> run_order(const json::Value* value) {
    RunArguments arguments = TRY(decoded<RunArguments>(value));
    TRY(check_command_of(arguments));
    protocol::ExecCommandParams params;
    params.command = std::move(arguments.command);
    params.argv = std::move(arguments.argv);
    params.workdir = unless_empty(std::move(arguments.cwd));
    params.tty = arguments.tty;
    params.stdin_text = std::move(arguments.stdin_text);
    params.yield_time_ms =
        arguments.background ? background_ms : arguments.timeout_ms.value_or(usual_wait_ms);
    params.until = until_of(arguments);
    if (params.until)
        params.yield_time_ms = arguments.timeout_ms.value_or(usual_wait_ms);
    else if (arguments.background)
        params.quiet_ms = quiet_ms;
    params.max_output_tokens = most_tokens;
    params.justification = unless_empty(std::move(arguments.reason));
    if (arguments.on_cancel == OnCancel::stop) params.on_cancel = protocol::OnCancel::terminate;
    ask_for_more(params, arguments);
    return Order{Tool::run_command, "exec/command", json_of(params)};
}

Result<Order> read_order(const json::Value* value) {
    const ReadArguments arguments = TRY(decoded<ReadArguments>(value));
    if (!arguments.after) {
        protocol::Until until;
        until.quiet_ms = quiet_ms;
        until.bytes = enough_bytes;
        return Order{Tool::read_output, "exec/wait",
                     wait_params(arguments.id, arguments.wait_ms, std::move(until)), arguments.id};
    }
    Order order{Tool::read_output, "process/read", "", arguments.id};
    order.page = cursor_of(*arguments.after);
    protocol::ReadParams params;
    params.process_id = arguments.id;
    params.after_seq = order.page->seq;
    params.max_bytes = page_bytes;
    params.wait_ms = arguments.wait_ms;
    order.params = json_of(params);
    return order;
}

Result<Order> wait_order(const json::Value* value) {
    WaitArguments arguments = TRY(decoded<WaitArguments>(value));
    std::optional<std::string> text = unless_empty(std::move(arguments.until_text));
    std::optional<std::string> regex = unless_empty(std::move(arguments.until_regex));
    if (text && regex) return bad("until_text", "to be absent, or until_regex");
    protocol::Until until;
    if (text || regex) until.pattern = protocol::UntilPattern{std::move(text), std::move(regex)};
    until.port = arguments.until_port;
    until.input = arguments.until_input;
    until.quiet_ms = arguments.until_quiet_ms;
    if (arguments.from_start) until.from = 0;
    return Order{Tool::wait, "exec/wait",
                 wait_params(arguments.id, arguments.timeout_ms, std::move(until)), arguments.id};
}

Result<Order> screen_order(const json::Value* value) {
    ScreenArguments arguments = TRY(decoded<ScreenArguments>(value));
    protocol::ScreenParams params;
    params.process_id = arguments.id;
    return Order{Tool::screen, "exec/screen", json_of(params), std::move(arguments.id)};
}

Result<Order> send_order(const json::Value* value) {
    SendArguments arguments = TRY(decoded<SendArguments>(value));
    if (arguments.text.empty() && !arguments.close) return bad("text", "to be present, or close");
    protocol::ExecWriteParams params;
    params.process_id = arguments.id;
    params.chars = std::move(arguments.text);
    params.close_stdin = arguments.close;
    params.yield_time_ms = arguments.wait_ms.value_or(usual_send_ms);
    params.quiet_ms = quiet_ms;
    params.max_output_tokens = most_tokens;
    return Order{Tool::send_input, "exec/writeStdin", json_of(params), std::move(arguments.id)};
}

Result<Order> stop_order(const json::Value* value) {
    StopArguments arguments = TRY(decoded<StopArguments>(value));
    protocol::TerminateParams params;
    params.process_id = arguments.id;
    params.grace_ms = arguments.grace_ms.value_or(usual_grace_ms);
    return Order{Tool::stop_process, "exec/terminate", json_of(params), std::move(arguments.id)};
}

Result<Order> list_order(const json::Value* value) {
    TRY(decoded<ListArguments>(value));
    return Order{Tool::list_processes, "exec/list", "{}"};
}

Result<Order> patch_order(const json::Value* value) {
    PatchArguments arguments = TRY(decoded<PatchArguments>(value));
    protocol::PatchApplyParams params;
    params.patch = std::move(arguments.patch);
    params.workdir = unless_empty(std::move(arguments.cwd));
    params.justification = unless_empty(std::move(arguments.reason));
    return Order{Tool::apply_patch, "patch/apply", json_of(params)};
}

Result<Order> check_order(const json::Value* value) {
    CheckArguments arguments = TRY(decoded<CheckArguments>(value));
    TRY(check_command_of(arguments));
    protocol::PolicyExplainParams params;
    params.command = std::move(arguments.command);
    params.argv = std::move(arguments.argv);
    params.workdir = unless_empty(std::move(arguments.cwd));
    return Order{Tool::check_command, "policy/explain", json_of(params)};
}

} // namespace

Result<Order> order_of(Tool tool, const json::Value* arguments) {
    switch (tool) {
    case Tool::run_command: return run_order(arguments);
    case Tool::read_output: return read_order(arguments);
    case Tool::wait: return wait_order(arguments);
    case Tool::screen: return screen_order(arguments);
    case Tool::send_input: return send_order(arguments);
    case Tool::stop_process: return stop_order(arguments);
    case Tool::list_processes: return list_order(arguments);
    case Tool::apply_patch: return patch_order(arguments);
    case Tool::check_command: return check_order(arguments);
    }
    return bad("name", "the name of a tool");
}

// The server takes 0 for no limit.
std::string wait_params(const std::string& process, std::uint64_t wait_ms,
                        std::optional<protocol::Until> until) {
    protocol::ExecWaitParams params;
    params.process_id = process;
    params.until = std::move(until);
    params.timeout_ms = std::max<std::uint64_t>(wait_ms, 1);
    params.max_output_tokens = most_tokens;
    return json_of(params);
}

} // namespace ew::mcp
