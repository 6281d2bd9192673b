#include "server/local/local_backend.h"

#include "base/check.h"
#include "core/output/utf8.h"
#include "os/io.h"
#include "os/listeners.h"
#include "os/pty.h"
#include "os/stream_state.h"
#include "server/local/input_look.h"
#include "server/request/start_request.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace ew::server {

namespace {

std::uint64_t millis(const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1000 +
           static_cast<std::uint64_t>(time.tv_usec) / 1000;
}

// The limits at which the kernel ends a program (setrlimit(2)). The others only make calls fail.
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

int number_of(protocol::SignalName name) {
    using protocol::SignalName;
    switch (name) {
    case SignalName::interrupt: return SIGINT;
    case SignalName::terminate: return SIGTERM;
    case SignalName::kill: return SIGKILL;
    case SignalName::hangup: return SIGHUP;
    case SignalName::quit: return SIGQUIT;
    case SignalName::usr1: return SIGUSR1;
    case SignalName::usr2: return SIGUSR2;
    case SignalName::stop: return SIGSTOP;
    case SignalName::go_on: return SIGCONT;
    case SignalName::window_change: return SIGWINCH;
    }
    return 0;
}

} // namespace

LocalBackend::LocalBackend(LocalSettings settings, ProcessService& processes, Pollers pollers,
                           os::Cookies cookies)
    : processes_(processes),
      poller_(pollers.all),
      streams_(pollers.all, pollers.bulk, processes),
      input_(pollers.all, processes, streams_),
      trees_(processes, cookies),
      starts_(std::move(settings), processes, pollers.all, streams_, cookies) {}

Result<void> LocalBackend::begin(Process& process, StartOrder order) {
    return starts_.begin(process, std::move(order.sandbox));
}

void LocalBackend::on_start_report(std::uint64_t serial) {
    Process* const process = processes_.find(serial);
    if (process == nullptr || !process->is_starting()) return;
    look_at_start(*process);
    const Process* const still = processes_.find(serial);
    if (still != nullptr && still->is_starting()) starts_.watch_again(*still);
}

void LocalBackend::look_at_start(Process& process) {
    const std::uint64_t serial = process.serial;
    starts_.look_at(process);
    Process* const still = processes_.find(serial);
    if (still == nullptr || still->is_starting() || !still->local->early_end) return;
    const EarlyEnd end = *std::exchange(still->local->early_end, std::nullopt);
    on_exit(*still, end.status, end.usage);
}

void LocalBackend::call_off_start(Process& process) {
    starts_.call_off(process);
}

void LocalBackend::write_input(Process& process) {
    input_.write(process);
}

void LocalBackend::end_input(Process& process) {
    input_.end(process);
}

void LocalBackend::signal(Process& process, Reply reply, const protocol::SignalParams& params) {
    // An interrupt that arrives after the end is a race that every client can lose.
    const bool is_interrupt = params.signal == protocol::SignalName::interrupt;
    if (trees_.signal(process, number_of(params.signal), params.scope) || is_interrupt)
        return reply.send(protocol::Empty{});
    reply.fail({ErrorKind::not_running,
                fmt::format("process '{}' has ended and left nothing to signal in this scope",
                            core::shortened(process.id)),
                "process/list shows what it left, process/read how it ended", "processId"});
}

void LocalBackend::interrupt(Process& process) {
    (void)trees_.signal(process, SIGINT, protocol::SignalScope::group);
}

void LocalBackend::resize(Process& process, Reply reply, const protocol::WindowSize& size) {
    // A terminal that has just gone has no size. Every client can lose this race.
    const UniqueFd& terminal = process.local->streams[0].fd;
    if (terminal && os::set_window_size(terminal.get(), window_size(size)))
        process.sizes.note(process.log.end(), {size.rows, size.cols}, processes_.now());
    reply.send(protocol::Empty{});
}

std::optional<os::LineMode> LocalBackend::line_mode(const Process& process) const {
    const UniqueFd& terminal = process.local->streams[0].fd;
    if (!process.is_tty() || !terminal) return std::nullopt;
    return os::line_mode(terminal.get());
}

std::optional<InputLook> LocalBackend::look_at_input(const Process& process) const {
    return ew::server::look_at_input(process, trees_);
}

void LocalBackend::resume_reading(Process& process) {
    streams_.resume(process);
}

bool LocalBackend::has_unread(const Process& process, core::Stream stream) const {
    return std::ranges::any_of(process.local->streams, [stream](const OutputStream& its) {
        return its.fd && its.name == stream && os::is_readable(its.fd.get());
    });
}

bool LocalBackend::has_program_ended(const Process& process) const {
    return process.local->has_program_ended();
}

bool LocalBackend::may_tell_exit(const Process& process) const {
    const LocalProcess& local = *process.local;
    return local.has_read_backlog() && (!local.sandbox || local.sandbox->is_cleared());
}

void LocalBackend::end_silent_streams(Process& process) {
    streams_.end_silent(process);
}

void LocalBackend::answer_host(Process& process, std::uint64_t question,
                               const sandbox::HostVerdict& verdict) {
    ProcessSandbox* const sandbox = process.local->sandbox.get();
    if (sandbox == nullptr || !sandbox->is_launched()) return;
    sandbox->run().answer_host(question, verdict, processes_.now());
}

SandboxState LocalBackend::sandbox_state(const Process& process) const {
    const ProcessSandbox* const sandbox = process.local->sandbox.get();
    if (sandbox == nullptr) return {};
    return {true,
            sandbox->to_wire(),
            sandbox->notes(),
            sandbox->denials(),
            sandbox->denial_count(),
            sandbox->host_uses()};
}

pid_t LocalBackend::pid(const Process& process) const {
    return process.local->leader();
}

std::optional<std::string> LocalBackend::environment(const Process& /*process*/) const {
    return std::nullopt;
}

bool LocalBackend::has_left_overs(Process& process) {
    return trees_.has_descendants_now(process);
}

void LocalBackend::begin_ending(Process& process, std::uint64_t grace_ms) {
    trees_.begin_ending(process, grace_ms);
}

void LocalBackend::refresh() {
    trees_.refresh();
}

std::vector<std::int64_t> LocalBackend::descendants(const Process& process) {
    return trees_.descendants(process);
}

std::optional<std::vector<std::uint16_t>> LocalBackend::listening_ports(const Process& process) {
    trees_.refresh();
    return os::listening_ports(trees_.leader_and_descendants(process));
}

void LocalBackend::on_supervisor(std::uint64_t serial) {
    Process* const process = processes_.find(serial);
    if (process != nullptr && process->local->sandbox)
        process->local->sandbox->on_supervisor(processes_.now());
}

void LocalBackend::on_clearing(std::uint64_t serial) {
    Process* const process = processes_.find(serial);
    if (process == nullptr || !process->local->sandbox) return;
    process->local->sandbox->on_clearing(poller_, processes_.now());
    if (!process->local->sandbox->is_cleared()) return;
    if (process->local->start_failure) return starts_.on_cleared(*process);
    processes_.settle(*process);
}

std::vector<LocalBackend::Stranger> LocalBackend::on_children() {
    std::vector<Stranger> strangers;
    for (;;) {
        int status = 0;
        rusage usage = {};
        const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
        if (pid <= 0) break;
        trees_.note_reaped(pid);
        if (Process* const process = trees_.find_leader(pid))
            on_exit(*process, status, usage);
        else
            strangers.push_back({pid, status});
    }
    processes_.for_each([&](Process& process) {
        if (process.local && process.ending) trees_.continue_ending(process);
    });
    return strangers;
}

void LocalBackend::on_exit(Process& process, int status, const rusage& usage) {
    LocalProcess& local = *process.local;
    if (process.is_starting()) {
        const std::uint64_t serial = process.serial;
        const pid_t ended = local.pid;
        on_start_report(serial);
        const bool has_failed = processes_.find(serial) == nullptr;
        if (has_failed || local.pid != ended) return; // it has failed or has begun again
        // The child is gone, so its report has ended. Processes of a sandbox that are still being
        // killed may hold the report of the sandbox open for a moment.
        CHECK(!process.is_starting() || local.sandbox);
        if (local.start_failure) return;
        if (process.is_starting()) {
            local.early_end = EarlyEnd{status, usage};
            return;
        }
        if (process.exit) return;
    }
    if (local.sandbox) status = local.sandbox->wait_status(status);
    Exit exit;
    exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    exit.code = exit.signal != 0 ? 128 + exit.signal : WEXITSTATUS(status);
    exit.usage.wall_ms = ew::millis(processes_.now() - process.started_at);
    exit.usage.user_ms = millis(usage.ru_utime);
    exit.usage.system_ms = millis(usage.ru_stime);
    exit.usage.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    exit.limit_hits = limit_hits(process.request, exit);
    exit.wants_sandbox_hint = local.sandbox != nullptr;
    input_.let_go(process);
    processes_.note_exit(process, std::move(exit));
    if (local.sandbox) local.sandbox->end(poller_, process.serial, processes_.now());
    streams_.read_backlog(process);
    if (local.terminal_retry) streams_.retry_terminal(process);
    // A child of the leader that was between fork and exec did not get the first SIGTERM.
    const bool was_asked = process.ending && process.ending->phase == Ending::Phase::polite;
    if (was_asked) (void)trees_.signal(process, SIGTERM, protocol::SignalScope::tree);
    processes_.settle(process);
}

void LocalBackend::check_timers(Process& process) {
    const LocalProcess& local = *process.local;
    if (local.sandbox) {
        const std::uint64_t serial = process.serial;
        local.sandbox->on_time(processes_.now());
        const bool is_late = !local.sandbox->is_cleared() &&
                             is_due(local.sandbox->next_deadline(), processes_.now());
        if (is_late) on_clearing(serial);
        if (processes_.find(serial) == nullptr) return;
    }
    trees_.on_time(process);
    if (is_due(local.terminal_retry, processes_.now())) {
        streams_.retry_terminal(process);
        write_input(process);
    }
}

std::optional<TimePoint> LocalBackend::next_deadline(const Process& process) const {
    const LocalProcess& local = *process.local;
    std::optional<TimePoint> next = earlier(local.terminal_retry, trees_.next_deadline(process));
    if (local.sandbox) next = earlier(next, local.sandbox->next_deadline());
    return next;
}

} // namespace ew::server
