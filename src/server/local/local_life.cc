// What happens to programs on this machine while they run: output, their exit, their sandbox.
#include "base/check.h"
#include "os/io.h"
#include "server/local/local_backend.h"
#include "server/request/start_request.h"

#include <sys/wait.h>

#include <csignal>
#include <limits>
#include <utility>

namespace ew::server {

namespace {

std::uint64_t millis(const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1000 +
           static_cast<std::uint64_t>(time.tv_usec) / 1000;
}

// The limits that a kernel ends a program for (setrlimit(2)). The others only make calls fail.
std::vector<std::string> limit_hits(const os::SpawnRequest& request, const Exit& exit) {
    const std::uint64_t used = (exit.usage.user_ms + exit.usage.system_ms) / 1000; // seconds
    std::vector<std::string> hits;
    for (const os::ChildLimit& limit : request.limits) {
        const bool is_over_time =
            limit.resource == RLIMIT_CPU &&
            (exit.signal == SIGXCPU || (exit.signal == SIGKILL && used >= limit.limit.rlim_cur));
        if (is_over_time) hits.emplace_back("cpuSeconds");
        if (limit.resource == RLIMIT_FSIZE && exit.signal == SIGXFSZ)
            hits.emplace_back("fileSizeBytes");
    }
    return hits;
}

std::optional<TimePoint> next_step(const Ending& ending) {
    return earlier(earlier(ending.kill_at, ending.look_again), ending.give_up);
}

} // namespace

void LocalBackend::on_output(std::uint64_t serial, std::size_t stream, std::size_t budget) {
    Process* const process = processes_.find(serial);
    if (process == nullptr || process->is_starting()) return;
    processes_.pump().read(*process, stream, budget, processes_.now());
    processes_.settle(*process);
}

void LocalBackend::on_supervisor(std::uint64_t serial) {
    Process* const process = processes_.find(serial);
    if (process != nullptr && process->sandbox) process->sandbox->on_supervisor(processes_.now());
}

void LocalBackend::on_clearing(std::uint64_t serial) {
    Process* const process = processes_.find(serial);
    if (process == nullptr || !process->sandbox) return;
    process->sandbox->on_clearing(poller_, processes_.now());
    if (!process->sandbox->is_cleared()) return;
    if (process->start_failure) return start_again_or_fail(*process);
    processes_.settle(*process);
}

std::vector<LocalBackend::Stranger> LocalBackend::on_children() {
    std::vector<Stranger> strangers;
    for (;;) {
        int status = 0;
        rusage usage = {};
        const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
        if (pid <= 0) break;
        descendants_.forget(pid);
        if (Process* const process = processes_.table().find_leader(pid))
            on_exit(*process, status, usage);
        else
            strangers.push_back({pid, status});
    }
    processes_.table().for_each([&](Process& process) {
        if (process.backend == this && process.ending) continue_ending(process);
    });
    return strangers;
}

void LocalBackend::on_exit(Process& process, int status, const rusage& usage) {
    if (process.is_starting()) {
        const std::uint64_t serial = process.serial;
        const pid_t ended = process.pid;
        on_start_report(serial);
        const bool has_failed = processes_.find(serial) == nullptr;
        if (has_failed || process.pid != ended) return; // or begun again
        // The child is gone, so its report has ended. That of a sandbox may be held for a moment
        // by processes in it that are still being killed.
        CHECK(!process.is_starting() || process.sandbox);
        if (process.start_failure) return;
        if (process.is_starting()) {
            process.early_end = EarlyEnd{status, usage};
            return;
        }
        if (process.exit) return;
    }
    if (process.sandbox) status = process.sandbox->wait_status(status);
    Exit exit;
    exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    exit.code = exit.signal != 0 ? 128 + exit.signal : WEXITSTATUS(status);
    exit.usage.wall_ms = ew::millis(processes_.now() - process.started_at);
    exit.usage.user_ms = millis(usage.ru_utime);
    exit.usage.system_ms = millis(usage.ru_stime);
    exit.usage.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    exit.limit_hits = limit_hits(process.request, exit);
    let_go_of_input(process);
    processes_.note_exit(process, std::move(exit));
    if (process.sandbox) process.sandbox->end(poller_, process.serial, processes_.now());
    if (process.terminal_retry) processes_.pump().retry_terminal(process);
    read_what_is_left(process);
    // A child of it that was between fork and exec has not got the first one.
    const bool was_asked = process.ending && process.ending->phase == Ending::Phase::polite;
    if (was_asked) (void)signal_tree(process, SIGTERM, protocol::SignalScope::tree);
    processes_.settle(process);
}

// What could be read at the exit is told before it.
void LocalBackend::read_what_is_left(Process& process) {
    // What a terminal still holds cannot be asked; it is read until it has nothing more to give.
    constexpr std::size_t unknown = std::numeric_limits<std::size_t>::max();
    for (std::size_t i = 0; i < process.streams.size(); ++i) {
        OutputStream& stream = process.streams[i];
        if (!stream.fd) continue;
        stream.backlog = process.is_tty() ? unknown : os::readable_bytes(stream.fd.get());
        while (stream.backlog > 0 &&
               processes_.pump().read(process, i, OutputPump::lone_budget, processes_.now())) {}
    }
}

void LocalBackend::resize(Process& process, Reply reply, const protocol::WindowSize& size) {
    // A terminal that has just gone has no size: a race that every client can lose.
    if (process.streams[0].fd)
        (void)os::set_window_size(process.streams[0].fd.get(), window_size(size));
    reply.send(protocol::Empty{});
}

std::optional<os::LineMode> LocalBackend::line_mode(const Process& process) const {
    if (!process.is_tty() || !process.streams[0].fd) return std::nullopt;
    return os::line_mode(process.streams[0].fd.get());
}

void LocalBackend::check_timers(Process& process) {
    if (process.sandbox) {
        const std::uint64_t serial = process.serial;
        process.sandbox->on_time(processes_.now());
        const bool is_late = !process.sandbox->is_cleared() &&
                             is_due(process.sandbox->next_deadline(), processes_.now());
        if (is_late) on_clearing(serial);
        if (processes_.find(serial) == nullptr) return;
    }
    if (process.ending && is_due(next_step(*process.ending), processes_.now()))
        continue_ending(process);
    if (is_due(process.terminal_retry, processes_.now())) {
        processes_.pump().retry_terminal(process);
        write_input(process);
    }
}

std::optional<TimePoint> LocalBackend::next_deadline(const Process& process) const {
    std::optional<TimePoint> next = process.terminal_retry;
    if (process.sandbox) next = earlier(next, process.sandbox->next_deadline());
    if (process.ending) next = earlier(next, next_step(*process.ending));
    return next;
}

} // namespace ew::server
