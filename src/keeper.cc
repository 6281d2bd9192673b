#include "keeper.h"

#include "base/check.h"
#include "base/clock.h"
#include "os/forked.h"
#include "os/proc.h"
#include "os/signals.h"

#include <fmt/core.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>

namespace ew {

namespace {

constexpr int status_of_a_crash = 70; // EX_SOFTWARE (sysexits.h)
constexpr Millis longest_clean_up{2000};
// How long a worker that was told to end may take. It takes one second, and longer only for locks
// on files.
constexpr Millis longest_ending{10'000};
constexpr Millis look_again_time{20};

void close_descriptors() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO})
        ::close(fd);
    os::close_all_but({});
}

// For dl_iterate_phdr(3). Code is never written, so the kernel maps it again from its file when it
// is needed (MADV_DONTNEED in madvise(2)). Best effort.
int give_back(dl_phdr_info* object, std::size_t, void*) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    for (const ElfW(Phdr) & part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
        if (part.p_type != PT_LOAD || (part.p_flags & (PF_X | PF_W)) != PF_X) continue;
        const std::uintptr_t begin = (object->dlpi_addr + part.p_vaddr) / page * page;
        const std::uintptr_t end = object->dlpi_addr + part.p_vaddr + part.p_memsz;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader tells numbers
        (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }
    return 0;
}

// Reaps all ended children. Returns the worker's status if it is among them.
std::optional<int> reap(pid_t worker) {
    std::optional<int> status;
    for (;;) {
        int ended = 0;
        const pid_t pid = ::waitpid(-1, &ended, WNOHANG);
        if (pid <= 0) return status;
        if (pid == worker) status = WIFEXITED(ended) ? WEXITSTATUS(ended) : status_of_a_crash;
    }
}

// Returns 0 if none arrives before the deadline.
int next_signal(const sigset_t& set, std::optional<TimePoint> deadline) {
    int signal = 0;
    if (!deadline) {
        signal = ::sigwaitinfo(&set, nullptr);
    } else {
        const auto rest = std::max(*deadline - clock_now(), TimePoint::duration::zero());
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(rest);
        const timespec wait = {seconds.count(), std::chrono::nanoseconds(rest - seconds).count()};
        signal = ::sigtimedwait(&set, nullptr, &wait);
    }
    return std::max(signal, 0);
}

// The worker is not reaped yet when it is signalled, so its pid cannot be reused. A stopped worker
// takes no signal but SIGCONT and SIGKILL.
int wait_for(pid_t worker) {
    const sigset_t set = os::taken_signals();
    std::optional<TimePoint> deadline;
    for (;;) {
        const int signal = next_signal(set, deadline);
        if (signal == SIGCHLD) {
            if (const std::optional<int> status = reap(worker)) return *status;
        } else if (signal != 0) {
            (void)::kill(worker, signal);
            (void)::kill(worker, SIGCONT);
            if (signal != SIGCONT && !deadline) deadline = clock_now() + longest_ending;
        }
        if (deadline && *deadline <= clock_now()) (void)::kill(worker, SIGKILL);
    }
}

void kill_what_is_left() {
    const sigset_t set = os::taken_signals();
    const TimePoint deadline = clock_now() + longest_clean_up;
    const timespec pause = {0, std::chrono::nanoseconds(look_again_time).count()};
    while (!os::children_of(::getpid()).empty()) {
        if (clock_now() >= deadline) {
            for (const os::ProcessIdentity& left : os::descendants_of(::getpid()))
                fmt::print(stderr, "execward: process {} could not be ended\n", left.pid);
            return;
        }
        for (const os::ProcessIdentity& left : os::descendants_of(::getpid()))
            os::signal_process(left, SIGKILL);
        (void)::sigtimedwait(&set, nullptr, &pause);
        (void)reap(0);
    }
}

} // namespace

void keep(pid_t worker) {
    CHECK(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    close_descriptors();
    (void)::dl_iterate_phdr(give_back, nullptr); // it needs little of what it has started with
    const int status = wait_for(worker);
    kill_what_is_left();
    ::_exit(status);
}

void become_worker(pid_t keeper, bool is_in_foreground) {
    // A SIGKILL to the client's process group must not end keeper and worker in the same instant.
    if (!is_in_foreground) CHECK(::setpgid(0, 0) == 0);
    CHECK(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    // The worker has to end its programs first, so it looks for its keeper whenever it gets a
    // signal. This one reaches a stopped worker too.
    CHECK(::prctl(PR_SET_PDEATHSIG, SIGCONT) == 0);
    if (::getppid() != keeper) ::_exit(status_of_a_crash);
}

} // namespace ew
