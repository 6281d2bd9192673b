#include "server/fs/file_process.h"

#include "base/log.h"
#include "os/io.h"
#include "os/pidfd.h"
#include "sandbox/launch/init_place.h"
#include "sandbox/plan/bubblewrap_arguments.h"
#include "sandbox/plan/plan.h"
#include "server/connection/source.h"

#include <cerrno>
#include <csignal>
#include <utility>

namespace ew::server {

namespace {

constexpr Millis ending_time{10'000};

} // namespace

Result<std::unique_ptr<FileProcess>> FileProcess::begin(std::uint64_t serial, os::Poller& poller) {
    std::unique_ptr<FileProcess> process(new FileProcess(serial, poller));
    const std::string init = TRY(sandbox::checked_init_place());
    process->companion_.emplace(TRY(os::Companion::begin(init, {"files"})));
    process->channel_.emplace(process->companion_->take_socket());
    return process;
}

Result<std::unique_ptr<FileProcess>>
FileProcess::begin_confined(std::uint64_t serial, const SandboxOrder& order,
                            const std::string& journal, SandboxHost& host, os::Poller& poller) {
    std::unique_ptr<FileProcess> process(new FileProcess(serial, poller));
    os::SpawnRequest request;
    // Without mounts, the sandbox shows the paths of the machine.
    request.argv = {host.machine()->has_mounts ? std::string(sandbox::init_path)
                                               : sandbox::init_place(),
                    "files", "once"};
    request.directory = "/";
    request.socket_stdin = true;
    sandbox::Context context = order.context;
    host.add_roots(context);
    sandbox::LaunchOrder launch = {
        request, order.policy,          std::move(context), *host.machine(),
        journal, host.any_namespaces(), host.guarded(),     host.walker(order.policy)};
    process->run_ = TRY(sandbox::ConfinedRun::begin(std::move(launch)));
    process->sandbox_ = os::open_pidfd(process->run_->spawned().pid);
    if (!process->sandbox_) return os::system_error("pidfd_open", errno);
    process->is_confined_ = true;
    process->host_ = &host;
    process->order_ = order;
    (void)poller.watch(process->run_->status(), token_of(Source::file_start, serial),
                       os::Interest::read);
    return process;
}

FileProcess::~FileProcess() {
    leave_poller();
    if (sandbox_) os::signal_by_pidfd(sandbox_.get(), SIGKILL);
}

void FileProcess::on_start_report() {
    if (!is_starting()) return;
    const std::optional<sandbox::Launch::Outcome> outcome = run_->outcome();
    if (!outcome) return;
    poller_.unwatch(run_->status());
    if (outcome->failure) {
        if (outcome->contradicts_machine) host_->doubt();
        failure_ = outcome->failure;
        is_failure_passing_ = outcome->is_passing;
        return;
    }
    if (sandbox::Namespaces made = run_->take_namespaces(); made.exist())
        (void)host_->keep_namespaces(0, order_, std::move(made), true);
    if (UniqueFd guarded = run_->take_guarded()) host_->keep_guarded(std::move(guarded));
    host_->keep_roots(run_->take_roots());
    channel_.emplace(std::move(run_->spawned().output));
}

std::vector<std::string> FileProcess::stand_ins() const {
    return run_ ? run_->stand_ins() : std::vector<std::string>();
}

void FileProcess::expect(bool answers) {
    if (!is_ready()) return;
    const bool writes = channel_->has_unsent();
    if (!writes && !answers) {
        // epoll reports the end of the peer even for an empty interest, in every turn.
        if (std::exchange(interest_, std::nullopt)) poller_.unwatch(channel_->fd());
        return;
    }
    const os::Interest interest = writes ? os::Interest::write : os::Interest::read;
    if (interest_ == interest) return;
    const os::Token token = token_of(Source::file_socket, serial_);
    if (interest_)
        poller_.change(channel_->fd(), token, interest);
    else
        (void)poller_.watch(channel_->fd(), token, interest);
    interest_ = interest;
}

void FileProcess::leave_poller() {
    if (std::exchange(interest_, std::nullopt)) poller_.unwatch(channel_->fd());
    if (is_starting()) poller_.unwatch(run_->status());
    if (is_cleaning_up()) poller_.unwatch(run_->cleanup_fd());
}

void FileProcess::take(std::uint64_t task, TimePoint now) {
    task_ = task;
    since_ = now;
}

std::optional<std::uint64_t> FileProcess::release(TimePoint now) {
    since_ = now;
    return std::exchange(task_, std::nullopt);
}

bool FileProcess::end(TimePoint now) {
    const bool is_at_work = run_ && channel_ && !is_at_rest_;
    leave_poller();
    companion_.reset();
    if (sandbox_) os::signal_by_pidfd(sandbox_.get(), SIGKILL);
    if (!is_at_work) return clear(now);
    // The kernel ends the processes in the sandbox one after the other. The last one closes the
    // socket.
    ending_deadline_ = now + ending_time;
    (void)poller_.watch(channel_->fd(), token_of(Source::file_socket, serial_), os::Interest::read);
    interest_ = os::Interest::read;
    return false;
}

bool FileProcess::clear(TimePoint now) {
    channel_.reset();
    if (!run_) return true;
    if (Result<void> ended = run_->end(now); !ended)
        log::warning("sandbox", "what held places stays until the next start: {}",
                     ended.error().message);
    if (!is_cleaning_up()) return true;
    (void)poller_.watch(run_->cleanup_fd(), token_of(Source::file_clearing, serial_),
                        os::Interest::read);
    return false;
}

bool FileProcess::go_on_ending(TimePoint now) {
    if (ending_deadline_) {
        if (*ending_deadline_ > now && channel_->discard()) return false;
        leave_poller();
        ending_deadline_.reset();
        return clear(now);
    }
    if (!is_cleaning_up()) return true;
    if (!run_->is_cleanup_over(now)) return false;
    poller_.unwatch(run_->cleanup_fd());
    run_->drop_cleanup();
    return true;
}

std::optional<TimePoint> FileProcess::ending_deadline() const {
    return is_cleaning_up() ? run_->next_deadline() : ending_deadline_;
}

} // namespace ew::server
