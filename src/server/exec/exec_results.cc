#include "server/exec/exec_results.h"

#include "base/check.h"
#include "core/output/excerpt.h"
#include "core/text/display.h"
#include "core/text/text.h"
#include "os/signals.h"
#include "protocol/methods.h"
#include "server/process/backend.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>

namespace ew::server {

namespace {

// The exit code that timeout(1) uses.
constexpr std::int64_t timed_out_code = 124;
constexpr std::int64_t not_started_code = -1;

std::int64_t code_of(const Process& process) {
    return process.timed_out ? timed_out_code : process.exit->code;
}

std::optional<std::string> signal_of(const Process& process) {
    if (process.timed_out || process.exit->signal == 0) return std::nullopt;
    return std::string(os::signal_name(process.exit->signal));
}

protocol::ExecFailure failure_of(const Error& error) {
    protocol::ExecFailure failure;
    failure.kind = protocol::name_of(error.kind);
    failure.message = error.message;
    if (!error.hint.empty()) failure.hint = error.hint;
    if (!error.path.empty()) failure.path = error.path;
    return failure;
}

// Returns true if the program waits for input that its terminal does not show. Where the kernel
// does not tell whether it waits, the mode of the terminal alone decides.
bool asks_for_hidden_input(const protocol::InputState& state) {
    return state.kind == protocol::InputKind::password &&
           (state.waiting || state.certainty == protocol::Certainty::termios);
}

void add_text(protocol::ExecResult& result, TimePoint::duration wall_time) {
    core::ModelText text;
    text.chunk_id = result.chunk_id;
    text.wall_time = wall_time;
    if (result.exit_code) text.exit_code = static_cast<int>(*result.exit_code);
    text.process_id = result.process_id;
    text.original_tokens = result.original_token_count;
    text.output = result.output;
    if (result.edited)
        text.note = fmt::format("a person edited the command, and {} ran in its place",
                                core::shell_quoted(result.edited->to));
    result.text = core::model_text(text);
}

core::Excerpt excerpt_of(const core::OutputView& view, const core::OutputLog& log,
                         std::uint64_t max_tokens) {
    const core::OutputView::Kept kept = view.kept(log);
    return core::shorten(core::lossy(kept.head), core::lossy(kept.tail), kept.omitted, max_tokens);
}

// Splits the output that the log still has by stream.
void split_streams(core::OutputLog& log, std::string& out, std::string& err) {
    log.cut_all();
    for (std::uint64_t seq = log.first_seq(); seq < log.next_seq(); ++seq) {
        const core::OutputLog::Entry entry = log.entry(seq);
        std::string& to = entry.kind == core::OutputLog::Kind::err ? err : out;
        to.append(entry.bytes[0]).append(entry.bytes[1]);
    }
    out = core::lossy(out);
    err = core::lossy(err);
}

} // namespace

std::string new_chunk_id() {
    constexpr std::uint32_t six_digits = 0xffffff;
    std::uint32_t number = 0;
    CHECK(::getrandom(&number, sizeof number, 0) == static_cast<ssize_t>(sizeof number));
    return fmt::format("{:06x}", number & six_digits);
}

protocol::ExecResult make_result(Process& process, const Wait& wait, TimePoint now) {
    ExecProcess& exec = *process.exec;
    protocol::ExecResult result;
    result.call_id = exec.begin.call_id;
    result.chunk_id = new_chunk_id();
    result.environment = exec.begin.environment;
    result.wall_time_ms = millis(now - wait.since);
    result.yield_time_ms = wait.terms.yield_ms;
    result.timings.approval_ms = exec.approval_ms;
    result.timings.spawn_ms = exec.spawn_ms;
    result.timings.run_ms =
        process.exit ? process.exit->usage.wall_ms : millis(now - process.started_at);
    core::Excerpt excerpt = excerpt_of(wait.view, process.log, wait.terms.max_tokens);
    result.output = std::move(excerpt.text);
    result.original_token_count = excerpt.original_tokens;
    result.omitted_bytes = excerpt.omitted_bytes;
    exec.unread = core::OutputView(process.log.end());
    result.sandbox = exec.begin.sandbox;
    result.denials = process.denials();
    if (process.is_confined()) result.denial_count = process.denial_count();
    result.notice = wait.notice;
    result.edited = wait.edited;
    result.wait_end = wait.end;
    result.timed_out = process.timed_out;
    result.state = protocol::ExecState::running;
    if (process.exit_is_logged) {
        result.state = protocol::ExecState::completed;
        result.exit_code = code_of(process);
        result.signal = signal_of(process);
        if (process.exit->is_usage_known) result.usage = process.exit->usage;
        result.sandbox_hint = process.exit->sandbox_hint;
        if (!process.exit->limit_hits.empty()) result.limit_hits = process.exit->limit_hits;
        if (process.exit->failure) {
            result.state = protocol::ExecState::failed;
            result.failure = failure_of(*process.exit->failure);
        }
    } else {
        result.process_id = process.id;
        result.input_state = input_state(process, now);
        if (result.input_state && asks_for_hidden_input(*result.input_state))
            result.state = protocol::ExecState::input_needed;
    }
    add_model_text(result, wait.terms, now - wait.since);
    return result;
}

protocol::ExecResult make_answer(const std::string& call_id, const std::string& output,
                                 std::int64_t exit_code, const WaitTerms& terms) {
    protocol::ExecResult result;
    result.call_id = call_id;
    result.chunk_id = new_chunk_id();
    result.yield_time_ms = terms.yield_ms;
    const core::Excerpt excerpt = core::shorten(core::lossy(output), "", 0, terms.max_tokens);
    result.output = excerpt.text;
    result.original_token_count = excerpt.original_tokens;
    result.omitted_bytes = excerpt.omitted_bytes;
    result.exit_code = exit_code;
    return result;
}

void add_model_text(protocol::ExecResult& result, const WaitTerms& terms,
                    TimePoint::duration wall) {
    if (terms.format == protocol::ResultFormat::model) add_text(result, wall);
}

protocol::ExecResult make_failure(const std::string& call_id, const Error& error,
                                  const WaitTerms& terms) {
    protocol::ExecResult result = make_answer(call_id, error.message, not_started_code, terms);
    result.state = protocol::ExecState::failed;
    result.failure = failure_of(error);
    add_model_text(result, terms, TimePoint::duration(0));
    return result;
}

bool has_failed_by_itself(const Process& process) {
    constexpr std::array<int, 4> orders = {SIGHUP, SIGINT, SIGKILL, SIGTERM};
    if (process.exit->failure) return false;
    const std::int64_t code = process.exit->code;
    const bool was_told_to = std::any_of(orders.begin(), orders.end(), [&](int signal) {
        return code == 128 + signal; // shells report a signal like this
    });
    return code != 0 && !process.timed_out && !was_told_to;
}

std::string text_of(const protocol::Confinement& confinement) {
    std::string type(json::name_of(confinement.type));
    if (confinement.missing.empty()) return type;
    return fmt::format("{} without {}", type, fmt::join(confinement.missing, ", "));
}

protocol::ExecEndEvent outcome_of(const Process& process) {
    const ExecProcess& exec = *process.exec;
    protocol::ExecEndEvent end;
    end.call_id = exec.begin.call_id;
    end.process_id = process.id;
    end.environment = exec.begin.environment;
    end.argv = exec.begin.argv;
    end.workdir = exec.begin.workdir;
    end.mode = exec.begin.mode;
    end.commands = exec.begin.commands;
    end.exit_code = code_of(process);
    end.status =
        end.exit_code == 0 ? protocol::ExecStatus::completed : protocol::ExecStatus::failed;
    end.signal = signal_of(process);
    end.timed_out = process.timed_out;
    end.duration_ms = process.exit->usage.wall_ms;
    end.sandbox = exec.begin.sandbox;
    end.denials = process.denials();
    if (process.is_confined()) end.denial_count = process.denial_count();
    end.sandbox_hint = process.exit->sandbox_hint;
    if (!process.exit->limit_hits.empty()) end.limit_hits = process.exit->limit_hits;
    end.usage = process.exit->usage;
    if (process.exit->failure) end.failure = failure_of(*process.exit->failure);
    return end;
}

protocol::ExecEndEvent make_end(Process& process) {
    const ExecProcess& exec = *process.exec;
    protocol::ExecEndEvent end = outcome_of(process);
    split_streams(process.log, end.stdout_text, end.stderr_text);
    const core::Excerpt all =
        excerpt_of(exec.transcript, process.log, protocol::most_output_tokens);
    end.aggregated_output = all.text;
    end.omitted_bytes = all.omitted_bytes;
    end.formatted_output = excerpt_of(exec.transcript, process.log, exec.max_tokens).text;
    return end;
}

} // namespace ew::server
