#include "sandbox/trial/probe_run.h"

#include "os/io.h"
#include "os/pidfd.h"
#include "os/proc.h"
#include "sandbox/plan/bubblewrap_arguments.h"
#include "sandbox/plan/plan.h"
#include "sandbox/run/confined_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <optional>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::size_t longest_output = 64 << 10;
constexpr Millis longest_ending{10'000}; // for killed processes to end
constexpr Millis without_pidfd{20};      // between two looks, before Linux 5.3

class Run {
public:
    explicit Run(ConfinedRun run)
        : children_(os::children_of(::getpid())),
          run_(std::move(run)),
          pid_(run_->spawned().pid),
          pidfd_(os::open_pidfd(pid_)) {}

    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    ~Run() {
        run_.reset(); // also ends the errands of its supervisor
        end();
        reap_errands();
    }

    // Waits until the program and its output have ended. Returns the reason of a failure, or an
    // empty string.
    std::string until(TimePoint deadline) {
        while (failure_.empty() && !is_over()) {
            const TimePoint now = clock_now();
            if (now >= deadline) return "it took too long";
            wait(now, deadline);
            look();
        }
        if (failure_.empty() && (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0))
            failure_ =
                fmt::format("what was tried in the sandbox ended with wait status {}", status_);
        return failure_;
    }

    const std::string& output() const { return output_; }

private:
    bool is_over() const { return is_reaped_ && !has_output_ && !run_->is_starting(); }

    void wait(TimePoint now, TimePoint deadline) {
        deadline = std::min(deadline, run_->next_deadline().value_or(deadline));
        if (!pidfd_ && !is_reaped_) deadline = std::min(deadline, now + without_pidfd);
        std::array<pollfd, 4> fds = {{
            {run_->is_starting() ? run_->status() : -1, POLLIN, 0},
            {has_output_ && !run_->is_starting() ? run_->spawned().output.get() : -1, POLLIN, 0},
            {run_->supervisor_fd(), POLLIN, 0},
            {is_reaped_ ? -1 : pidfd_.get(), POLLIN, 0},
        }};
        const auto rest = std::chrono::ceil<Millis>(deadline - now).count();
        (void)::poll(fds.data(), fds.size(), static_cast<int>(std::max<std::int64_t>(rest, 0)));
    }

    void look() {
        if (run_->is_starting()) take_outcome();
        if (!run_->is_starting() && has_output_) read_output();
        run_->on_supervisor(clock_now());
        run_->on_time(clock_now());
        reap();
    }

    void take_outcome() {
        const std::optional<Launch::Outcome> outcome = run_->outcome();
        if (!outcome) return;
        if (outcome->failure)
            failure_ = outcome->failure->message;
        else if (Result<void> supervised = run_->supervise(); !supervised)
            failure_ = supervised.error().message;
    }

    void read_output() {
        std::array<char, 4096> bytes;
        for (;;) {
            const os::IoResult result =
                os::read_some(run_->spawned().output.get(), bytes.data(), bytes.size());
            if (result.state == os::IoState::end) has_output_ = false;
            if (result.state != os::IoState::progress) return;
            if (output_.size() < longest_output) output_.append(bytes.data(), result.count);
        }
    }

    void reap() {
        if (is_reaped_) return;
        const pid_t found = ::waitpid(pid_, &status_, WNOHANG);
        is_reaped_ = found == pid_ || (found < 0 && errno == ECHILD);
    }

    // The first process of the sandbox dies with bubblewrap; without mounts the program leads a
    // group of its own.
    void end() {
        if (is_reaped_) return;
        ::kill(-pid_, SIGKILL);
        ::kill(pid_, SIGKILL);
        const TimePoint deadline = clock_now() + longest_ending;
        while (!is_reaped_ && clock_now() < deadline) {
            pollfd ended = {pidfd_.get(), POLLIN, 0};
            (void)::poll(&ended, 1, static_cast<int>(without_pidfd.count()));
            reap();
        }
    }

    static void await_end(pid_t child) {
        const TimePoint deadline = clock_now() + longest_ending;
        while (::waitpid(child, nullptr, WNOHANG) == 0 && clock_now() < deadline)
            (void)::poll(nullptr, 0, 1);
    }

    // No other process waits for the children of the supervisor.
    void reap_errands() {
        for (const pid_t child : os::children_of(::getpid())) {
            const bool is_new =
                std::find(children_.begin(), children_.end(), child) == children_.end();
            if (is_new) await_end(child); // this process has killed it
        }
    }

    std::vector<pid_t> children_; // of this process before the run
    std::optional<ConfinedRun> run_;
    pid_t pid_ = 0;
    UniqueFd pidfd_;
    std::string output_;
    std::string failure_;
    int status_ = 0;
    bool has_output_ = true; // more output may come
    bool is_reaped_ = false;
};

LaunchOrder order_for(const Machine& machine, const Scratch& scratch, Network network) {
    LaunchOrder order;
    order.machine = machine;
    order.policy = scratch.policy(network);
    order.context = scratch.context();
    order.journal = scratch.journal();
    os::SpawnRequest& request = order.request;
    request.argv = {machine.has_mounts ? std::string(init_path) : machine.init, "probe"};
    for (std::string& argument : scratch.arguments(network))
        request.argv.push_back(std::move(argument));
    request.directory = scratch.inside();
    return order;
}

std::string what_does_not_work(const std::vector<Finding>& findings) {
    for (const std::string_view name : {"works_write", "works_null"}) {
        const auto found =
            std::find_if(findings.begin(), findings.end(),
                         [name](const Finding& finding) { return finding.name == name; });
        const std::string_view what =
            name == "works_null" ? "/dev/null" : "a file in a writable root";
        if (found == findings.end()) return "what was tried in the sandbox told nothing";
        if (!found->went_through)
            return fmt::format("{} could not be written in the sandbox: {}", what,
                               ::strerror(found->error_number));
    }
    return {};
}

} // namespace

ProbeRun run_probes(const Machine& machine, const Scratch& scratch, Network network,
                    TimePoint deadline) {
    ProbeRun result;
    Result<ConfinedRun> begun = ConfinedRun::begin(order_for(machine, scratch, network));
    if (!begun) {
        result.failure = begun.error().message;
        return result;
    }
    Run run(std::move(*begun));
    result.failure = run.until(deadline);
    result.findings = findings_in(run.output());
    if (result.failure.empty()) result.failure = what_does_not_work(result.findings);
    return result;
}

std::vector<Finding> findings_in(std::string_view text) {
    std::vector<Finding> findings;
    for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;
         text.remove_prefix(end + 1)) {
        const std::string_view line = text.substr(0, end);
        const std::size_t first = line.find(' ');
        const std::size_t second = line.find(' ', first == std::string_view::npos ? 0 : first + 1);
        if (first == std::string_view::npos || second == std::string_view::npos) continue;
        const std::string_view outcome = line.substr(first + 1, second - first - 1);
        const std::string_view number = line.substr(second + 1);
        Finding finding;
        finding.name = line.substr(0, first);
        finding.went_through = outcome == "ok";
        const auto [rest, error] =
            std::from_chars(number.data(), number.data() + number.size(), finding.error_number);
        const bool is_whole = error == std::errc{} && rest == number.data() + number.size();
        if (is_whole && (finding.went_through || outcome == "held"))
            findings.push_back(std::move(finding));
    }
    return findings;
}

} // namespace ew::sandbox
