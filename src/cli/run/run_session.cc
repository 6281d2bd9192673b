#include "cli/run/run_session.h"

#include "base/clock.h"
#include "cli/run/run_report.h"
#include "cli/run/run_signals.h"
#include "cli/run/run_streams.h"
#include "sandbox/launch/placeholders.h"
#include "sandbox/run/confined_run.h"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace ew::cli {

namespace {

// How long a command may run on after a signal that asks it to end; then it is killed.
constexpr Millis grace{2000};
// After the command has ended, its output is read until no process holds the other end, or until
// nothing has arrived for this long. Only a process that has left the sandbox can still hold it.
constexpr Millis patience{2000};
constexpr Millis patience_when_ended{200}; // if a signal asked us to end

int status_of(int wait_status) {
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

class Session {
public:
    explicit Session(const RunOrder& order) : is_quiet_(order.is_quiet), hosts_(order.hosts) {}

    RunEnd run(const sandbox::LaunchOrder& order);

private:
    enum Slot { signals, status, supervisor, question, streams };

    static constexpr std::size_t slots = streams + RunStreams::slots;
    using Polled = std::array<pollfd, slots>;

    Result<void> begin(sandbox::LaunchOrder order);
    void start_over();
    void loop();
    bool is_over(TimePoint now) const;
    std::optional<TimePoint> end_of_patience() const;
    Polled polled() const;
    int wait_millis(TimePoint now) const;
    void handle(const Polled& polled, TimePoint now);

    void on_signals(TimePoint now);
    void on_ending(int signal, TimePoint now);
    void reap();
    void end_group();
    void suspend();
    void come_forward();

    void on_outcome();
    void relay(const Polled& polled, TimePoint now);

    bool is_asking() const { return hosts_ != nullptr && hosts_->fd() >= 0; }

    void on_answer(TimePoint now);

    void signal_command(int signal);
    void kill_sandbox();
    void release_placeholders();
    RunEnd conclude();

    RunStreams streams_;
    RunSignals signals_;
    std::optional<sandbox::ConfinedRun> run_;
    std::string journal_; // names the journal of placeholders

    bool is_quiet_;
    RunHosts* hosts_; // null: there is no network by host
    bool runs_ = false;
    bool is_passing_ = false;           // see Launch::Outcome
    std::optional<Error> failure_;      // why the command has not run
    std::optional<int> sandbox_status_; // of the process that we started
    int ended_by_ = 0;                  // the signal that asked us to end
    std::optional<TimePoint> kill_at_;
    std::optional<TimePoint> give_up_at_; // after the command has ended: see `patience`
};

// A new try is safe: nothing of the command has run, and another plan keeps no fewer guarantees.
RunEnd Session::run(const sandbox::LaunchOrder& order) {
    journal_ = order.journal;
    Result<void> begun = streams_.open();
    for (std::size_t tries = 1; begun; ++tries) {
        begun = begin(order);
        if (!begun) break;
        loop();
        if (!is_passing_ || ended_by_ != 0 || tries == sandbox::Launch::most_tries)
            return conclude();
        start_over();
    }
    (void)streams_.close(); // nothing was written
    report_error(begun.error());
    return {status_not_run, begun.error()};
}

Result<void> Session::begin(sandbox::LaunchOrder order) {
    streams_.request(order.request);
    run_ = TRY(sandbox::ConfinedRun::begin(std::move(order)));
    return streams_.prepare(run_->spawned());
}

void Session::start_over() {
    release_placeholders();
    run_.reset();
    streams_.start_over();
    failure_.reset();
    is_passing_ = false;
    sandbox_status_.reset();
    kill_at_.reset();
    give_up_at_.reset();
}

void Session::loop() {
    TimePoint now = clock_now();
    while (!is_over(now)) {
        Polled polled = this->polled();
        const int count = ::poll(polled.data(), polled.size(), wait_millis(now));
        now = clock_now();
        if (count < 0) continue; // EINTR: a signal stopped us
        handle(polled, now);
    }
    on_outcome(); // that there is none, if none has come
}

bool Session::is_over(TimePoint now) const {
    if (!sandbox_status_) return false;
    if (!runs_ && !failure_) return is_due(give_up_at_, now);
    return !streams_.has_output() || is_due(end_of_patience(), now);
}

// Returns nullopt while the reader holds us up: we wait for it, unless a signal asked us to end.
std::optional<TimePoint> Session::end_of_patience() const {
    return streams_.is_held_up() && ended_by_ == 0 ? std::nullopt : give_up_at_;
}

Session::Polled Session::polled() const {
    Polled polled = {};
    for (pollfd& one : polled)
        one = {-1, POLLIN, 0};
    polled[signals].fd = signals_.get();
    if (!runs_ && !failure_) polled[status].fd = run_->status();
    if (!sandbox_status_) polled[supervisor].fd = run_->supervisor_fd();
    if (is_asking()) polled[question].fd = hosts_->fd();
    std::ranges::copy(streams_.polled(is_asking()), polled.begin() + streams);
    return polled;
}

int Session::wait_millis(TimePoint now) const {
    std::optional<TimePoint> next = earlier(kill_at_, end_of_patience());
    next = earlier(next, run_->next_deadline());
    next = earlier(next, streams_.next_deadline());
    if (!next) return -1;
    const auto left = std::chrono::ceil<Millis>(*next - now).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void Session::handle(const Polled& polled, TimePoint now) {
    if (polled[signals].revents != 0) on_signals(now);
    if (polled[status].revents != 0) on_outcome();
    if (polled[supervisor].revents != 0) run_->on_supervisor(now);
    if (polled[question].revents != 0) on_answer(now);
    run_->on_time(now);
    if (is_due(kill_at_, now)) {
        kill_sandbox();
        kill_at_.reset();
    }
    // A shell that puts us into the foreground need not send SIGCONT.
    if (streams_.on_time(now)) come_forward();
    relay(polled, now);
}

void Session::on_signals(TimePoint now) {
    for (const int signal : signals_.take()) {
        if (signal == SIGCHLD) reap();
        if (signal == SIGWINCH) streams_.pass_size();
        if (signal == SIGCONT) come_forward();
        if (signal == SIGTSTP) suspend();
        if (RunSignals::is_ending(signal)) on_ending(signal, now);
    }
}

// A hang-up, and any signal after it, never counts as a second request: when a terminal closes, the
// kernel and the shell send SIGHUP, the input ends, and a session manager sends SIGTERM.
void Session::on_ending(int signal, TimePoint now) {
    if (signal == SIGHUP && ended_by_ != 0) return;
    const bool is_first = ended_by_ == 0 || ended_by_ == SIGHUP;
    ended_by_ = signal;
    if (sandbox_status_) { // the command has ended; only its output still arrives
        give_up_at_ = is_first ? now + patience_when_ended : now;
        return;
    }
    if (!is_first) {
        kill_sandbox();
        return;
    }
    signal_command(signal); // if the command does not run yet, it gets the signal when it does
    if (!kill_at_) kill_at_ = now + grace;
}

void Session::reap() {
    on_outcome(); // otherwise a leader that has already ended would be unknown
    end_group();
    int wait_status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &wait_status, WNOHANG)) > 0;) {
        if (pid != run_->spawned().pid) continue; // an errand
        sandbox_status_ = status_of(wait_status);
        if (hosts_ != nullptr && !is_passing_) hosts_->close();
        kill_at_.reset();
        give_up_at_ = clock_now() + (ended_by_ != 0 ? patience_when_ended : patience);
        streams_.end_input();
        on_outcome();
    }
}

// Without namespaces the command is the process that we started, and the rest of its group has to
// be ended. The group's number cannot be reused before the command is reaped.
void Session::end_group() {
    const pid_t command = run_->spawned().pid;
    siginfo_t info = {};
    if (sandbox_status_ || run_->leader() != command) return;
    if (::waitid(P_PID, static_cast<id_t>(command), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return;
    if (info.si_pid == command) (void)::kill(-command, SIGKILL); // the group may be empty
}

// Stops the command and us, as the terminal's driver would if the command were in our session.
void Session::suspend() {
    streams_.restore_terminal();
    if (runs_) signal_command(SIGSTOP);
    RunSignals::stop_here();
    if (runs_) signal_command(SIGCONT);
    come_forward();
}

void Session::come_forward() {
    if (runs_ && !is_asking()) streams_.come_forward();
}

void Session::on_outcome() {
    if (runs_ || failure_) return; // the end of the process was handled here before
    // A process that made the sandbox may hold the report open for a moment after its end.
    const std::optional<sandbox::Launch::Outcome> outcome = run_->outcome();
    if (!outcome && !is_due(give_up_at_, clock_now())) return;
    failure_ = outcome ? outcome->failure
                       : Error{ErrorKind::sandbox_unavailable,
                               "the command was not run: its sandbox ended"};
    is_passing_ = outcome && outcome->is_passing;
    if (failure_) {
        kill_sandbox(); // the sandbox ends by itself, unless something blocks it
        return;
    }
    runs_ = true;
    if (!is_quiet_) report_missing(run_->missing(), run_->notes());
    if (Result<void> supervised = run_->supervise(hosts_); !supervised) {
        failure_ = std::move(supervised.error());
        kill_sandbox();
        return;
    }
    come_forward();
    streams_.begin(run_->spawned(), run_->leader(), !sandbox_status_);
    if (ended_by_ != 0) signal_command(ended_by_);
}

// The command draws its screen anew.
void Session::on_answer(TimePoint now) {
    const std::optional<RunHosts::Answer> answer = hosts_->take_answer();
    if (!answer) return;
    run_->answer_host(answer->question, answer->verdict, now);
    if (is_asking()) return;
    come_forward();
    if (!sandbox_status_) streams_.signal_foreground(run_->leader(), SIGWINCH);
}

void Session::relay(const Polled& polled, TimePoint now) {
    RunStreams::Polled ready;
    std::ranges::copy(polled.begin() + streams, polled.end(), ready.begin());
    const RunStreams::Moved moved = streams_.on_ready(ready, is_asking(), now);
    if (moved.has_hung_up && !sandbox_status_) on_ending(SIGHUP, now);
    if (moved.has_output && sandbox_status_ && give_up_at_)
        give_up_at_ = now + (ended_by_ != 0 ? patience_when_ended : patience);
}

// Signals the command's process group and, in a terminal, its foreground group.
void Session::signal_command(int signal) {
    const pid_t leader = run_->leader();
    if (sandbox_status_ || leader <= 0 || run_->wait_status()) return; // its pid may be free
    (void)::kill(-leader, signal); // the group may just have ended
    streams_.signal_foreground(leader, signal);
}

// The first process of the sandbox, and everything in it, dies with the process that we started. In
// its first moments it does not, but is still in the group of that process, so the group is killed
// too. On a machine without namespaces only the process group exists.
void Session::kill_sandbox() {
    if (sandbox_status_) return;
    signal_command(SIGKILL);
    const pid_t started = run_->spawned().pid; // not reaped yet, so the pid is still this process
    (void)::kill(-started, SIGKILL);           // the group may not exist yet
    (void)::kill(started, SIGKILL);
}

void Session::release_placeholders() {
    run_->end_and_wait(clock_now());
    // A process that was killed while it made placeholders may not have reported all of them.
    if (!runs_ && !journal_.empty()) sandbox::sweep(journal_);
}

RunEnd Session::conclude() {
    const std::optional<int> told = run_->wait_status();
    const int write_error = streams_.close();
    release_placeholders();
    if (failure_) {
        if (ended_by_ != 0) return {128 + ended_by_, failure_};
        report_error(*failure_);
        return {status_of_failure(*failure_), failure_};
    }
    if (write_error != 0)
        report_error(os::system_error("cannot pass the command's output on", write_error));
    if (!is_quiet_) report_denials(run_->denials());
    return {told ? status_of(*told) : *sandbox_status_, {}, run_->denials(), run_->host_uses()};
}

} // namespace

RunEnd run_session(const RunOrder& order) {
    return Session(order).run(order.launch);
}

} // namespace ew::cli
