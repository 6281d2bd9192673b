#include "server/exec/programs.h"

#include "core/output/utf8.h"
#include "json/writer.h"
#include "protocol/exec_events.h"
#include "server/connection/notify.h"
#include "server/exec/attempt.h"
#include "server/exec/exec_results.h"
#include "server/process/backend.h"
#include "server/process/typed_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace ew::server {

namespace {

constexpr std::string_view interrupt_key = "\x03";

// Returns the common start of all deltas of a process, up to the first number.
std::string delta_header(const std::string& call_id, const std::string& process_id) {
    ByteBuffer header;
    header.append(std::string_view(R"(","params":{"callId":)"));
    json::write_string(header, call_id);
    header.append(std::string_view(R"(,"processId":)"));
    json::write_string(header, process_id);
    header.append(std::string_view(R"(,"seq":)"));
    return std::string(header.view());
}

} // namespace

void Programs::begin(Process& process) {
    ExecProcess& exec = *process.exec;
    exec.is_begun = true;
    exec.spawn_ms = millis(now_ - exec.decided_at);
    exec.begin.sandbox = process.confinement();
    notify(outbox_, "exec/begin", exec.begin);
    exec.header = delta_header(exec.begin.call_id, process.id);
    if (exec.stdin_text) {
        (void)processes_.type(process, *exec.stdin_text);
        processes_.end_input(process);
        exec.stdin_text.reset();
    }
    (void)processes_.delivery().deliver(process); // output goes before any answer
}

void Programs::begin_wait_for_call(Process& process, const WaitTerms& terms) const {
    Wait wait = {terms, now_, deadline_after(now_, terms.yield_ms), 0, core::OutputView()};
    if (terms.until)
        if (Result<UntilWatch> watch = UntilWatch::of(*terms.until, 0)) // checked with the params
            wait.watch = std::move(*watch);
    wait.look_at(process.log);
    process.exec->waits.begin_for_call(std::move(wait));
}

bool Programs::is_over(const Process& process) const {
    return is_due(progress_of(process).over_at, now_);
}

Waits::Progress Programs::progress_of(const Process& process) const {
    Waits::Progress progress;
    progress.end_of_output = process.log.end();
    progress.last_output = process.delivery.last_output;
    if (process.exit_is_logged)
        progress.over_at = process.is_closed ? now_ : *process.exec->ended_at + answer_grace;
    return progress;
}

void Programs::look_for_waits(Process& process) const {
    const WantedLook wanted = process.exec->waits.wanted(now_);
    if (process.exit_is_logged || wanted.is_empty()) return;
    process.exec->waits.take(look_at_program(process, wanted, now_), now_);
}

bool Programs::is_over_for_call(Process& process) const {
    if (outbox_.is_full_of_answers()) return false; // the client must read first
    return process.exec->waits.is_over_for_call(progress_of(process), now_);
}

void Programs::answer_waits(Process& process) {
    while (!outbox_.is_full_of_answers()) {
        std::optional<WritersWait> over = process.exec->waits.take_over(progress_of(process), now_);
        if (!over) return;
        if (over->chars && (!over->chars->empty() || !process.exit_is_logged))
            tell_interaction(process, *over->chars);
        over->reply.send(make_result(process, over->wait, now_));
    }
}

void Programs::note_exit(Process& process) {
    if (!process.exit_is_logged || process.exec->ended_at) return;
    process.exec->ended_at = now_;
    audit_end(process);
}

void Programs::audit_end(const Process& process) {
    const auto audit = [&](store::AuditRow row) {
        if (const std::optional<std::string>& environment = process.exec->begin.environment)
            row.detail.insert(0, fmt::format("environment {}, ", *environment));
        records_.audit(std::move(row));
    };
    const protocol::ExecBeginEvent& begin = process.exec->begin;
    if (const std::vector<protocol::Denial> denials = process.denials(); !denials.empty())
        audit(denial_row(begin, process.denial_count(), denials));
    for (const sandbox::HostUse& use : process.host_uses())
        audit(host_row(begin.call_id, begin.argv, begin.workdir, use));
    ProgramEnd end{outcome_of(process).exit_code, process.exit->usage.wall_ms,
                   process.exit->failure};
    if (process.exit->is_usage_known) end.peak_rss_bytes = process.exit->usage.peak_rss_bytes;
    audit(exit_row(begin, end));
}

// exec/end follows the last delta. It is sent when the streams have ended, or have stayed open for
// too long.
void Programs::tell_end(Process& process) {
    ExecProcess& exec = *process.exec;
    if (exec.is_end_sent || !exec.ended_at) return;
    if (!process.is_closed && now_ < *exec.ended_at + end_grace) return;
    if (!can_send_end(process)) return;
    exec.is_end_sent = true;
    const Lane lane = lane_of_end(process);
    if (outbox_.wants_ends()) notify(outbox_, "exec/end", make_end(process), lane);
    if (lane == Lane::bulk) process.delivery.bulk_end = outbox_.bulk_queued();
}

Lane Programs::lane_of_end(const Process& process) const {
    const bool would_overtake_deltas = outbox_.bulk_sent() < process.delivery.bulk_end;
    return would_overtake_deltas ? Lane::bulk : Lane::priority;
}

// exec/end is large, so it is made only when the client has read the messages before it.
bool Programs::can_send_end(const Process& process) const {
    const Lane lane = lane_of_end(process);
    const std::size_t mark = lane == Lane::bulk ? Outbox::bulk_mark : Outbox::priority_mark;
    return !process.log.has_undelivered() && outbox_.unsent(lane) < mark;
}

// Returns a process that one more request can wait for. Returns null if the request is answered.
Process* Programs::find_to_wait_for(const std::string& id, Reply& reply) {
    Process* const process = processes_.find(id);
    if (process == nullptr) {
        reply.fail(processes_.table().unknown(id));
        return nullptr;
    }
    if (process->exec && process->exec->is_begun) {
        processes_.table().touch(*process);
        if (process->exec->waits.writers() < most_waits) return process;
        reply.fail({ErrorKind::limit,
                    fmt::format("{} requests wait for this process already", most_waits),
                    "wait for their answers"});
        return nullptr;
    }
    reply.fail({ErrorKind::unknown_process,
                process->exec ? fmt::format("process '{}' has not started yet", id)
                              : fmt::format("process '{}' was not started by exec/command",
                                            core::shortened(id)),
                "exec/list shows the processes there are; process/write and process/read serve "
                "the others"});
    return nullptr;
}

// Writes the input if the program takes input.
std::optional<Error> Programs::take_input(Process& process, const std::string& chars) {
    if (!chars.empty() && !process.is_tty()) {
        if (chars != interrupt_key)
            return Error{ErrorKind::stdin_closed,
                         fmt::format("process '{}' has no terminal and takes no input",
                                     core::shortened(process.id)),
                         "start it with tty: true to type, or give the text as stdin; the single "
                         "character \\u0003 interrupts it",
                         "chars"};
        process.backend->interrupt(process);
    } else if (!chars.empty() && !processes_.type(process, chars)) {
        return Error{ErrorKind::limit,
                     fmt::format("{} bytes of input wait for process '{}' already",
                                 InputQueue::most_queued, core::shortened(process.id)),
                     "it does not read its terminal: wait, or end it"};
    }
    return std::nullopt;
}

Process* Programs::write(Reply reply, const protocol::ExecWriteParams& params,
                         const WaitTerms& terms) {
    Process* const process = find_to_wait_for(params.process_id, reply);
    if (process == nullptr) return nullptr;
    Result<std::string> typed =
        bytes_of({params.chars, params.paste, params.keys}, process->key_modes.modes());
    if (!typed) {
        reply.fail(typed.error());
        return nullptr;
    }
    const std::uint64_t from = typed->empty() ? process->exec->unread.begin() : process->log.end();
    Result<Wait> wait = wait_of(*process, terms, from);
    if (!wait) {
        reply.fail(wait.error());
        return nullptr;
    }
    // What the terminal hides may be a password, so events show its length only.
    const std::string shown = hides_input(*process) ? std::string(typed->size(), '*') : *typed;
    const bool has_input = !typed->empty() || params.close_stdin;
    const bool takes_input =
        !process->exit_is_logged && (!process->is_tty() || process->input.is_open());
    if (has_input && !takes_input) {
        wait->notice = "the input was not taken: the program has ended";
    } else if (const std::optional<Error> error = take_input(*process, *typed)) {
        reply.fail(*error);
        return nullptr;
    } else if (params.close_stdin) {
        processes_.end_input(*process);
    }
    process->exec->waits.add({std::move(reply), std::move(*wait), shown});
    return process;
}

Process* Programs::wait(Reply reply, const std::string& id, const WaitTerms& terms) {
    Process* const process = find_to_wait_for(id, reply);
    if (process == nullptr) return nullptr;
    Result<Wait> wait = wait_of(*process, terms, process->exec->unread.begin());
    if (!wait) {
        reply.fail(wait.error());
        return nullptr;
    }
    process->exec->waits.add({std::move(reply), std::move(*wait)});
    return process;
}

// Returns a wait for output from byte `from` of the log on. The answer has all unread output.
// Errors: what is waited for.
Result<Wait> Programs::wait_of(const Process& process, const WaitTerms& terms,
                               std::uint64_t from) const {
    Wait wait = {terms, now_, {}, from, process.exec->unread};
    if (terms.yield_ms > 0) wait.deadline = deadline_after(now_, terms.yield_ms);
    if (!terms.until) return wait;
    if (process.backend->environment(process))
        if (std::optional<Error> refusal = refusal_elsewhere(*terms.until)) return *refusal;
    wait.watch = TRY(UntilWatch::of(*terms.until, from));
    wait.watch->look_at(process.log);
    return wait;
}

void Programs::tell_interaction(const Process& process, const std::string& chars) {
    protocol::ExecInteractionEvent interaction;
    interaction.call_id = process.exec->begin.call_id;
    interaction.process_id = process.id;
    interaction.stdin_text = chars;
    notify(outbox_, "exec/terminalInteraction", interaction);
}

bool Programs::cancel(const json::Id& request) {
    bool found = false;
    processes_.for_each([&](Process& process) {
        if (!process.exec || found) return;
        std::optional<WritersWait> wait = process.exec->waits.take(request);
        if (!wait) return;
        found = true;
        if (wait->chars && !wait->chars->empty()) tell_interaction(process, *wait->chars);
        wait->reply.fail({ErrorKind::cancelled,
                          fmt::format("the wait was cancelled; process '{}' goes on", process.id),
                          "exec/wait waits for it again", "", process.id});
    });
    return found;
}

protocol::ExecProcessInfo Programs::info_of(Process& process) {
    const protocol::ExecBeginEvent& begin = process.exec->begin;
    protocol::ExecProcessInfo info;
    info.process_id = process.id;
    info.call_id = begin.call_id;
    info.environment = begin.environment;
    info.argv = begin.argv;
    info.workdir = begin.workdir;
    info.tty = process.is_tty();
    info.started_at_ms = process.started_at_ms;
    info.unread_bytes = process.exec->unread.size(process.log);
    info.descendants = process.backend->descendants(process);
    if (process.is_running()) info.input_state = input_state(process, now_);
    if (!process.exit_is_logged) return info;
    info.state = protocol::ExecProcessState::exited;
    const protocol::ExecEndEvent end = outcome_of(process);
    info.exit_code = end.exit_code;
    info.signal = end.signal;
    return info;
}

std::vector<protocol::ExecProcessInfo> Programs::list(const EnvironmentFilter& filter) {
    std::vector<protocol::ExecProcessInfo> infos;
    processes_.table().refresh();
    processes_.for_each([&](Process& process) {
        if (!process.exec || !process.exec->is_begun) return;
        if (filter.takes(process.exec->begin.environment)) infos.push_back(info_of(process));
    });
    std::sort(infos.begin(), infos.end(), [](const auto& a, const auto& b) {
        return a.started_at_ms != b.started_at_ms ? a.started_at_ms < b.started_at_ms
                                                  : a.process_id < b.process_id;
    });
    return infos;
}

std::vector<std::string> Programs::end_all(const EnvironmentFilter& filter,
                                           std::optional<std::uint64_t> grace_ms) {
    std::vector<std::string> ended;
    processes_.for_each([&](Process& process) {
        if (!process.exec || process.is_closed) return;
        if (!filter.takes(process.exec->begin.environment)) return;
        if (!process.exit) ended.push_back(process.id);
        processes_.end(process, grace_ms.value_or(process.grace_ms));
    });
    return ended;
}

bool Programs::has_ends_to_tell() {
    bool found = false;
    processes_.for_each([&](const Process& process) {
        if (!process.exec) return;
        const bool has_end = process.exec->is_begun && process.exit && !process.exec->is_end_sent;
        found |= has_end || process.is_starting();
    });
    return found;
}

void Programs::abandon(const Error& error) {
    processes_.for_each([&](Process& process) {
        if (process.exec) process.exec->waits.abandon(error);
    });
}

std::optional<TimePoint> Programs::next_deadline() {
    std::optional<TimePoint> next;
    processes_.for_each([&](const Process& process) {
        if (!process.exec) return;
        const ExecProcess& exec = *process.exec;
        // No answers are sent while the client does not read.
        if (!outbox_.is_full_of_answers() && (!process.exit_is_logged || exec.ended_at))
            next = earlier(next, exec.waits.next_deadline(progress_of(process)));
        next = earlier(next, input_news_.next_deadline(process));
        if (exec.ended_at && !exec.is_end_sent && can_send_end(process))
            next = earlier(next, process.is_closed ? now_ : *exec.ended_at + end_grace);
    });
    return next;
}

} // namespace ew::server
