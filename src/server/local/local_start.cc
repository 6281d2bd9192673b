// Starts on this machine: until the program runs, or cannot.
#include "core/output/utf8.h"
#include "server/connection/source.h"
#include "server/local/local_backend.h"
#include "server/request/start_request.h"

#include <fcntl.h>
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

LocalBackend::LocalBackend(LocalSettings settings, ProcessService& processes, os::Poller& poller,
                           os::Cookies cookies)
    : settings_(std::move(settings)),
      processes_(processes),
      poller_(poller),
      descendants_(cookies),
      host_(settings_.sandbox, settings_.journal, poller) {}

Result<void> LocalBackend::begin(Process& process) {
    limit_open_files(process.request, settings_.open_files);
    mark(process.request, descendants_.cookies().limit_for(process.serial));
    return process.sandbox ? begin_confined(process) : begin_plain(process);
}

Result<void> LocalBackend::begin_plain(Process& process) {
    Result<std::unique_ptr<os::PendingStart>> start =
        os::PendingStart::begin(process.request, ::getpid());
    if (!start) return not_startable(process, std::move(start.error()));
    process.start = std::move(*start);
    process.pid = process.start->spawned().pid;
    (void)poller_.watch(process.start->report(), token_of(Source::start, process.serial),
                        os::Interest::read);
    return {};
}

// At once if it is known what can be enforced here; else when it is, see on_machine().
Result<void> LocalBackend::begin_confined(Process& process) {
    host_.need(processes_.now());
    if (host_.machine() == nullptr && !host_.failure()) return {};
    return launch_confined(process);
}

Result<void> LocalBackend::launch_confined(Process& process) {
    if (host_.failure()) return machine_unknown(*host_.failure());
    ProcessSandbox& sandbox = *process.sandbox;
    if (Result<void> begun =
            sandbox.launch(process.request, *host_.machine(), settings_.journal, host_.guarded());
        !begun)
        return not_startable(process, std::move(begun.error()));
    process.pid = sandbox.spawned().pid;
    (void)poller_.watch(sandbox.start_report(), token_of(Source::start, process.serial),
                        os::Interest::read);
    return {};
}

void LocalBackend::on_start_report(std::uint64_t serial) {
    Process* const process = processes_.find(serial);
    if (process != nullptr && process->is_starting()) look_at_start(*process);
}

void LocalBackend::look_at_start(Process& process) {
    if (!process.sandbox) {
        if (const std::optional<os::StartFailure> failure = process.start->outcome())
            finish_plain(process, *failure);
        return;
    }
    if (!process.sandbox->is_launched() || process.start_failure) return;
    if (const std::optional<sandbox::Launch::Outcome> outcome = process.sandbox->outcome())
        finish_confined(process, *outcome);
}

void LocalBackend::finish_plain(Process& process, const os::StartFailure& failure) {
    poller_.unwatch(process.start->report());
    if (failure.step != os::StartStep::none)
        return processes_.fail_start(process, os::describe(failure, process.request));
    os::Spawned spawned = std::move(process.start->spawned());
    process.start.reset();
    take_over(process, std::move(spawned));
}

void LocalBackend::finish_confined(Process& process, const sandbox::Launch::Outcome& outcome) {
    poller_.unwatch(process.sandbox->start_report());
    if (outcome.failure) {
        if (outcome.contradicts_machine && !process.start_is_cancelled) host_.doubt();
        process.start_failure = outcome.failure;
        process.may_start_again = outcome.is_passing;
        process.sandbox->end(poller_, process.serial, processes_.now());
        if (process.sandbox->is_cleared()) start_again_or_fail(process);
        return;
    }
    const std::uint64_t serial = process.serial;
    process.sandbox->begin(poller_, process.serial);
    if (UniqueFd guarded = process.sandbox->take_guarded()) host_.keep_guarded(std::move(guarded));
    take_over(process, std::move(process.sandbox->spawned()));
    Process* const still = processes_.find(serial);
    if (still == nullptr || !still->early_end) return;
    const EarlyEnd end = *std::exchange(still->early_end, std::nullopt);
    on_exit(*still, end.status, end.usage);
}

// It runs.
void LocalBackend::take_over(Process& process, os::Spawned spawned) {
    process.streams[0].fd = std::move(spawned.output);
    process.streams[0].name = process.is_tty() ? core::Stream::pty : core::Stream::out;
    process.streams[1].fd = std::move(spawned.error);
    process.streams[1].name = core::Stream::err;
    process.input.fd = std::move(spawned.input);
    if (process.is_tty()) // epoll keeps one interest a descriptor, so writing has one of its own
        process.input.fd = UniqueFd(::fcntl(process.streams[0].fd.get(), F_DUPFD_CLOEXEC, 3));
    process.input.is_open = static_cast<bool>(process.input.fd);
    processes_.pump().watch(process);
    processes_.begin_running(process);
}

// Nothing of the program has run, and another plan promises no less.
void LocalBackend::start_again_or_fail(Process& process) {
    Error failure = *std::exchange(process.start_failure, std::nullopt);
    const bool is_wanted = !process.start_is_cancelled && !process.ending;
    const bool may_start = std::exchange(process.may_start_again, false) && is_wanted &&
                           process.start_tries < ProcessSandbox::most_tries;
    if (!may_start) return processes_.fail_start(process, std::move(failure));
    ++process.start_tries;
    process.sandbox = std::make_unique<ProcessSandbox>(process.sandbox->wish());
    if (Result<void> begun = begin_confined(process); !begun)
        processes_.fail_start(process, std::move(begun.error()));
}

// The start is still under way: both requests are answered when the child is gone, or when it
// proves to hang in a directory that does not answer.
void LocalBackend::call_off_start(Process& process) {
    const bool waits_for_machine = process.sandbox && !process.sandbox->is_launched();
    if (waits_for_machine)
        return processes_.fail_start(process, {ErrorKind::cancelled, "the start was cancelled"});
    const bool is_reaped = process.early_end || process.start_failure;
    if (is_reaped) return (void)processes_.expect_end(process);
    (void)::kill(process.pid, SIGKILL);
    // Until bubblewrap's second process has asked to die with the first, only the group has both.
    if (process.sandbox) (void)::kill(-process.pid, SIGKILL);
    (void)processes_.expect_end(process);
}

void LocalBackend::on_machine() {
    if (!host_.on_ready()) return;
    begin_waiting();
}

std::vector<std::uint64_t> LocalBackend::waiting_for_machine() {
    return processes_.table().serials_of([](const Process& process) {
        return process.is_starting() && process.sandbox && !process.sandbox->is_launched();
    });
}

// What can be enforced here is known, or that it cannot be known.
void LocalBackend::begin_waiting() {
    for (const std::uint64_t serial : waiting_for_machine()) {
        Process* const process = processes_.find(serial);
        if (process == nullptr) continue; // gone with one before it
        if (Result<void> begun = launch_confined(*process); !begun)
            processes_.fail_start(*process, std::move(begun.error()));
    }
}

void LocalBackend::refuse_waiting(const Error& error) {
    for (const std::uint64_t serial : waiting_for_machine())
        if (Process* const process = processes_.find(serial))
            processes_.fail_start(*process, error);
}

void LocalBackend::on_time() {
    if (host_.on_time(processes_.now())) begin_waiting();
}

} // namespace ew::server
