#include "base/unique_fd.h"
#include "os/proc.h"
#include "support/child_process.h"
#include "support/testing.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

using ew::os::ProcessIdentity;

namespace {

// A child with a child of its own; both wait to be killed, or for the end of the test.
class Family {
public:
    Family() {
        int ends[2] = {-1, -1};
        REQUIRE(::pipe(ends) == 0);
        int life[2] = {-1, -1};
        REQUIRE(::pipe2(life, O_CLOEXEC) == 0);
        const ew::UniqueFd await_end(life[0]);
        life_.reset(life[1]);
        child_ = ::fork();
        if (child_ == 0) {
            life_.reset();
            const pid_t grandchild = ::fork();
            if (grandchild != 0) (void)!::write(ends[1], &grandchild, sizeof grandchild);
            char byte = 0;
            (void)!::read(await_end.get(), &byte, 1); // the end comes when the test has gone
            ::_exit(0);
        }
        (void)!::read(ends[0], &grandchild_, sizeof grandchild_);
        ::close(ends[0]);
        ::close(ends[1]);
    }

    ~Family() {
        ::kill(grandchild_, SIGKILL);
        end_child();
    }

    Family(const Family&) = delete;
    Family& operator=(const Family&) = delete;

    void kill_child() const { ::kill(child_, SIGKILL); }

    void end_child() {
        if (child_ == 0) return;
        kill_child();
        (void)signal_that_ended_child();
    }

    int signal_that_ended_child() {
        int status = 0;
        ::waitpid(std::exchange(child_, 0), &status, 0);
        return WTERMSIG(status);
    }

    pid_t child() const { return child_; }

    pid_t grandchild() const { return grandchild_; }

private:
    ew::UniqueFd life_; // what both wait for the end of
    pid_t child_ = 0;
    pid_t grandchild_ = 0;
};

using Pids = std::vector<pid_t>;

Pids pids_of(const std::vector<ProcessIdentity>& processes) {
    Pids pids;
    for (const ProcessIdentity& process : processes)
        pids.push_back(process.pid);
    return pids;
}

} // namespace

TEST_SUITE_BEGIN("os/proc");

TEST_CASE("a process has children from their start until they are reaped") {
    const auto outcome = ew::test::in_child([] {
        if (ew::os::has_children()) return false;
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        const bool had_one = ew::os::has_children() && ew::os::has_children();
        return had_one && ::waitpid(child, nullptr, 0) == child && !ew::os::has_children();
    });

    CHECK(outcome.is_true);
}

TEST_CASE("children are those of a process itself, descendants all below it") {
    const Family family;

    CHECK(ew::os::children_of(::getpid()) == Pids{family.child()});
    CHECK(ew::os::children_of(family.child()) == Pids{family.grandchild()});
    CHECK(pids_of(ew::os::descendants_of(::getpid())) == Pids{family.child(), family.grandchild()});
    CHECK(ew::os::descendants_of(family.grandchild()).empty());
}

TEST_CASE("a zombie is a child, but neither alive nor a descendant") {
    Family family;
    family.kill_child();
    siginfo_t info = {};
    ::waitid(P_PID, static_cast<id_t>(family.child()), &info, WEXITED | WNOWAIT);

    CHECK(ew::os::children_of(::getpid()) == Pids{family.child()});
    CHECK_FALSE(ew::os::living_process(family.child()).has_value());
    CHECK(ew::os::descendants_of(::getpid()).empty());
}

TEST_CASE("a process that is gone is not alive and has no children") {
    Family family;
    const pid_t gone = family.child();

    family.end_child();

    CHECK_FALSE(ew::os::living_process(gone).has_value());
    CHECK(ew::os::children_of(gone).empty());
}

TEST_CASE("a living process is known by its number and the time of its start") {
    const Family family;
    const std::optional<ProcessIdentity> identity = ew::os::living_process(family.child());

    REQUIRE(identity.has_value());
    CHECK(identity->pid == family.child());
    CHECK(identity->start_time > 0);
    CHECK(ew::os::descendants_of(::getpid()).front() == *identity);
    CHECK(ew::os::living_process(family.child()) == identity);
}

TEST_CASE("a signal reaches the process that was meant") {
    Family family;

    ew::os::signal_process(*ew::os::living_process(family.child()), SIGUSR1);

    CHECK(family.signal_that_ended_child() == SIGUSR1);
}

TEST_CASE("a signal for a process whose number means another one now is not sent") {
    Family family;
    ProcessIdentity other = *ew::os::living_process(family.child());
    other.start_time -= 1;

    ew::os::signal_process(other, SIGUSR1);
    family.kill_child();

    CHECK(family.signal_that_ended_child() == SIGKILL);
}

TEST_CASE("a file of /proc is read whole, and one that is gone is empty") {
    CHECK(ew::os::read_proc_file("/proc/self/status").find("\nPid:") != std::string::npos);
    CHECK(ew::os::read_proc_file("/proc/0/status").empty());
}

TEST_SUITE_END();
