#include "server/local/local_starts.h"

#include "core/output/utf8.h"
#include "server/connection/source.h"
#include "server/process/consumer.h"
#include "server/request/start_request.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace ew::server {

namespace {

Error not_startable(const Process& process, Error error) {
    if (error.kind == ErrorKind::sandbox_unavailable || error.kind == ErrorKind::invalid_params)
        return error;
    error.kind = ErrorKind::spawn_failed;
    error.message = fmt::format("cannot start '{}': {}",
                                core::shortened(process.request.argv.front()), error.message);
    return error;
}

Error machine_unknown(const Error& why) {
    return {ErrorKind::sandbox_unavailable,
            fmt::format("the command was not run: what this machine can enforce could not be "
                        "found out: {}",
                        why.message),
            "try again; execward doctor tells more"};
}

} // namespace

LocalStarts::LocalStarts(LocalSettings settings, ProcessService& processes, os::Poller& poller,
                         StreamReader& streams, os::Cookies cookies)
    : settings_(std::move(settings)),
      processes_(processes),
      poller_(poller),
      streams_(streams),
      cookies_(cookies),
      host_(settings_.sandbox, settings_.journal, poller) {}

Result<void> LocalStarts::begin(Process& process, std::optional<SandboxOrder> order) {
    process.local = std::make_unique<LocalProcess>();
    limit_open_files(process.request, settings_.open_files);
    mark(process.request, cookies_.limit_for(process.serial));
    if (!order) return begin_plain(process);
    process.local->sandbox = std::make_unique<ProcessSandbox>(std::move(*order));
    return begin_confined(process);
}

Result<void> LocalStarts::begin_plain(Process& process) {
    LocalProcess& local = *process.local;
    Result<std::unique_ptr<os::PendingStart>> start =
        os::PendingStart::begin(process.request, ::getpid());
    if (!start) return not_startable(process, std::move(start.error()));
    local.start = std::move(*start);
    local.pid = local.start->spawned().pid;
    (void)poller_.watch(local.start->report(), token_of(Source::start, process.serial),
                        os::Interest::read_once);
    return {};
}

// Launches at once if it is known what this machine can enforce, and no other launch makes the
// namespaces of the session; otherwise begin_waiting() launches later.
Result<void> LocalStarts::begin_confined(Process& process) {
    host_.need(processes_.now());
    return launch_confined(process);
}

Result<void> LocalStarts::launch_confined(Process& process) {
    if (host_.failure()) return machine_unknown(*host_.failure());
    if (host_.machine() == nullptr) {
        host_.need(processes_.now()); // another launch has contradicted what was known
        return {};
    }
    ProcessSandbox& sandbox = *process.local->sandbox;
    if (!host_.may_launch(sandbox.wish())) return {};
    if (Result<void> begun = sandbox.launch(process.request, settings_.journal, host_); !begun)
        return not_startable(process, std::move(begun.error()));
    host_.note_launch(process.serial, sandbox.wish());
    host_.make_ready();
    process.local->pid = sandbox.run().spawned().pid;
    (void)poller_.watch(sandbox.run().status(), token_of(Source::start, process.serial),
                        os::Interest::read);
    return {};
}

void LocalStarts::look_at(Process& process) {
    LocalProcess& local = *process.local;
    if (!local.sandbox) {
        if (const std::optional<os::StartFailure> failure = local.start->outcome())
            finish_plain(process, *failure);
        return;
    }
    if (!local.sandbox->is_launched() || local.start_failure) return;
    sandbox::ConfinedRun& run = local.sandbox->run();
    const std::optional<sandbox::Launch::Outcome> outcome = run.outcome();
    if (UniqueFd guarded = run.take_guarded()) host_.keep_guarded(std::move(guarded));
    const bool may_others_begin = host_.keep_namespaces(process.serial, local.sandbox->wish(),
                                                        run.take_namespaces(), outcome.has_value());
    if (outcome) finish_confined(process, *outcome);
    if (may_others_begin) begin_waiting();
}

void LocalStarts::watch_again(const Process& process) {
    const LocalProcess& local = *process.local;
    if (local.start)
        poller_.change(local.start->report(), token_of(Source::start, process.serial),
                       os::Interest::read_once);
}

void LocalStarts::finish_plain(Process& process, const os::StartFailure& failure) {
    LocalProcess& local = *process.local;
    if (failure.step != os::StartStep::none)
        return processes_.fail_start(process, os::describe(failure, process.request));
    os::Spawned spawned = std::move(local.start->spawned());
    local.start.reset();
    take_over(process, std::move(spawned));
}

void LocalStarts::finish_confined(Process& process, const sandbox::Launch::Outcome& outcome) {
    LocalProcess& local = *process.local;
    ProcessSandbox& sandbox = *local.sandbox;
    poller_.unwatch(sandbox.run().status());
    if (outcome.failure) {
        if (outcome.contradicts_machine && !process.start.is_cancelled) host_.doubt();
        local.start_failure = outcome.failure;
        local.may_start_again = outcome.is_passing;
        sandbox.end(poller_, process.serial, processes_.now());
        if (sandbox.is_cleared()) on_cleared(process);
        return;
    }
    sandbox.begin(poller_, process.serial, process.host_asking);
    host_.keep_roots(sandbox.run().take_roots());
    take_over(process, std::move(sandbox.run().spawned()));
}

void LocalStarts::take_over(Process& process, os::Spawned spawned) {
    LocalProcess& local = *process.local;
    local.streams[0].fd = std::move(spawned.output);
    local.streams[0].name = process.is_tty() ? core::Stream::pty : core::Stream::out;
    local.streams[1].fd = std::move(spawned.error);
    local.streams[1].name = core::Stream::err;
    local.input = std::move(spawned.input);
    if (process.is_tty() || local.input) process.input.open();
    streams_.watch(process);
    processes_.begin_running(process);
}

// A new try is safe: nothing of the program has run, and another plan keeps no fewer guarantees.
void LocalStarts::on_cleared(Process& process) {
    LocalProcess& local = *process.local;
    Error failure = *std::exchange(local.start_failure, std::nullopt);
    const bool is_wanted = !process.start.is_cancelled && !process.ending;
    const bool may_start = std::exchange(local.may_start_again, false) && is_wanted &&
                           local.start_tries < sandbox::Launch::most_tries;
    if (!may_start) return processes_.fail_start(process, std::move(failure));
    ++local.start_tries;
    local.pid = 0;           // the previous bubblewrap may be reaped while this try waits
    local.early_end.reset(); // of the previous try
    local.sandbox = std::make_unique<ProcessSandbox>(local.sandbox->wish());
    if (Result<void> begun = begin_confined(process); !begun)
        processes_.fail_start(process, std::move(begun.error()));
}

// The start is still under way. The start and the request that cancelled it are answered when the
// child is gone, or when it proves to hang in a directory that does not answer.
void LocalStarts::call_off(Process& process) {
    const LocalProcess& local = *process.local;
    const bool waits_for_machine = local.sandbox && !local.sandbox->is_launched();
    if (waits_for_machine)
        return processes_.fail_start(process, {ErrorKind::cancelled, "the start was cancelled"});
    (void)processes_.expect_end(process);
    const bool is_reaped = local.early_end || local.start_failure;
    if (is_reaped) return;
    (void)::kill(local.pid, SIGKILL);
    // Until bubblewrap's second process has asked to die with the first, only the group contains
    // both.
    if (local.sandbox) (void)::kill(-local.pid, SIGKILL);
}

void LocalStarts::on_machine() {
    if (!host_.on_ready()) return;
    begin_waiting();
}

std::vector<std::uint64_t> LocalStarts::waiting_for_machine() {
    return processes_.table().serials_of([](const Process& process) {
        const ProcessSandbox* const sandbox =
            process.local ? process.local->sandbox.get() : nullptr;
        return process.is_starting() && sandbox != nullptr && !sandbox->is_launched();
    });
}

// It is now known what this machine can enforce, or that this cannot be found out.
void LocalStarts::begin_waiting() {
    for (const std::uint64_t serial : waiting_for_machine()) {
        Process* const process = processes_.find(serial);
        if (process == nullptr) continue; // an earlier failure removed it
        if (Result<void> begun = launch_confined(*process); !begun)
            processes_.fail_start(*process, std::move(begun.error()));
    }
}

void LocalStarts::refuse_waiting(const Error& error) {
    for (const std::uint64_t serial : waiting_for_machine())
        if (Process* const process = processes_.find(serial))
            processes_.fail_start(*process, error);
}

void LocalStarts::on_time() {
    if (host_.on_time(processes_.now())) begin_waiting();
}

} // namespace ew::server
