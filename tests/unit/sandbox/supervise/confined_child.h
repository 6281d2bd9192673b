// A child process whose calls a Supervisor answers, which the test drives, on the real kernel. The
// filter is written here, so that only the supervisor is tested.
#pragma once

#include "os/io.h"
#include "sandbox/supervise/supervisor.h"
#include "support/testing.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ew::test {

constexpr Millis generous{120'000};

// Repeats a race `times` times, or fewer on a slow machine.
template <class Try>
void race(int times, Try attempt) {
    const TimePoint end = clock_now() + Millis(5'000);
    for (int i = 0; i < times && clock_now() < end; ++i)
        attempt();
}

// --- the child's side

inline std::string ipv4(const char* host, int port) {
    sockaddr_in raw = {};
    raw.sin_family = AF_INET;
    raw.sin_port = htons(static_cast<std::uint16_t>(port));
    (void)::inet_pton(AF_INET, host, &raw.sin_addr);
    return std::string(reinterpret_cast<const char*>(&raw), sizeof raw);
}

inline std::string ipv6(const char* host, int port) {
    sockaddr_in6 raw = {};
    raw.sin6_family = AF_INET6;
    raw.sin6_port = htons(static_cast<std::uint16_t>(port));
    (void)::inet_pton(AF_INET6, host, &raw.sin6_addr);
    return std::string(reinterpret_cast<const char*>(&raw), sizeof raw);
}

inline std::string unix_address(std::string_view name) {
    const sa_family_t family = AF_UNIX;
    return std::string(reinterpret_cast<const char*>(&family), sizeof family) + std::string(name);
}

inline int connect_to(int fd, const std::string& address) {
    const auto* raw = reinterpret_cast<const sockaddr*>(address.data());
    return ::connect(fd, raw, static_cast<socklen_t>(address.size())) == 0 ? 0 : errno;
}

inline UniqueFd new_socket(int family, int type = SOCK_STREAM) {
    return UniqueFd(::socket(family, type | SOCK_CLOEXEC, 0));
}

inline int try_address(const std::string& address, int type = SOCK_STREAM) {
    sa_family_t family = 0;
    std::memcpy(&family, address.data(), sizeof family);
    return connect_to(new_socket(family, type).get(), address);
}

inline int try_file(const std::string& path) {
    return try_address(unix_address(path));
}

// Returns a listener, or an empty descriptor if none can be made.
inline UniqueFd listen_at(const std::string& address, int backlog = 8) {
    sa_family_t family = 0;
    std::memcpy(&family, address.data(), sizeof family);
    UniqueFd fd = new_socket(family);
    const auto* raw = reinterpret_cast<const sockaddr*>(address.data());
    if (::bind(fd.get(), raw, static_cast<socklen_t>(address.size())) != 0) return {};
    if (::listen(fd.get(), backlog) != 0) return {};
    return fd;
}

inline int port_of(const UniqueFd& listener) {
    sockaddr_in raw = {};
    socklen_t size = sizeof raw;
    (void)::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&raw), &size);
    return ntohs(raw.sin_port);
}

inline bool has_visitor(const UniqueFd& listener) {
    pollfd waiting = {listener.get(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) == 1;
}

// Enters a network of its own with loopback up. Returns false if this machine does not permit it.
inline bool enter_own_network() {
    if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
    ifreq request = {};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    const UniqueFd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return ::ioctl(any.get(), SIOCSIFFLAGS, &request) == 0;
}

// Notifies these calls whatever their arguments; a signal that does not kill must wait.
inline UniqueFd notify(const std::vector<int>& calls) {
    std::vector<sock_filter> program = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)}};
    for (const int call : calls) {
        program.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<std::uint32_t>(call)});
        program.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF});
    }
    program.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
    const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
    (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    constexpr unsigned long wait_killable = 1UL << 5; // Linux 5.19
    const auto install = [&filter](unsigned long flags) {
        return UniqueFd(
            static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter)));
    };
    UniqueFd listener = install(SECCOMP_FILTER_FLAG_NEW_LISTENER | wait_killable);
    return listener ? std::move(listener) : install(SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

inline bool send_descriptor(int to, int fd) {
    char byte = 'x';
    iovec part = {&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* const control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(control), &fd, sizeof fd);
    return ::sendmsg(to, &message, 0) == 1;
}

inline UniqueFd receive_descriptor(int from) {
    char byte = 0;
    iovec part = {&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    if (::recvmsg(from, &message, MSG_CMSG_CLOEXEC) != 1) return {};
    const cmsghdr* const control = CMSG_FIRSTHDR(&message);
    if (control == nullptr) return {};
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(control), sizeof fd);
    return UniqueFd(fd);
}

// --- the test's side

class ConfinedChild {
public:
    using Body = std::function<std::string()>;

    // `prepare` runs before the filter, and returns whether the machine has what it needs.
    ConfinedChild(
        sandbox::SupervisorSettings settings, Body body,
        std::function<bool()> prepare = [] { return true; },
        const std::vector<int>& calls = {SYS_connect},
        std::unique_ptr<sandbox::Gateway> gateway = nullptr) {
        std::array<int, 2> ends = {-1, -1};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
        UniqueFd ours(ends[0]);
        UniqueFd theirs(ends[1]);
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            ours.reset();
            run(theirs, parent, body, prepare, calls);
        }
        theirs.reset();
        told_ = std::move(ours);
        UniqueFd listener = receive_descriptor(told_.get());
        if (!listener) return;
        if (settings.has_mounts) settings.mounts = sandbox::KnownMounts::of(pid_);
        auto started = sandbox::Supervisor::start(std::move(listener), std::move(settings),
                                                  std::move(gateway));
        REQUIRE(started);
        supervisor_ = std::move(*started);
    }

    ~ConfinedChild() {
        supervisor_.reset();
        kill();
        while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {}
    }

    ConfinedChild(const ConfinedChild&) = delete;
    ConfinedChild& operator=(const ConfinedChild&) = delete;

    // If not, the machine lacks what the test needs, and the test ends.
    bool is_running() const {
        if (!supervisor_) MESSAGE("this machine does not let the test prepare its child");
        return supervisor_ != nullptr;
    }

    pid_t pid() const { return pid_; }

    // Becomes readable when the body has returned.
    int told() const { return told_.get(); }

    sandbox::Supervisor& supervisor() { return *supervisor_; }

    // The result of the body.
    std::string result() {
        std::string text;
        bool is_over = false;
        drive([&] {
            std::array<char, 4096> block;
            const ssize_t count = ::recv(told_.get(), block.data(), block.size(), MSG_DONTWAIT);
            if (count > 0) text.append(block.data(), static_cast<std::size_t>(count));
            is_over = count == 0;
            return is_over;
        });
        return is_over ? text : text + " (and it does not end)";
    }

    // Drives the supervisor as the loop would, until `is_done`. Returns false if that takes too
    // long.
    template <class Condition>
    bool drive(Condition is_done) {
        const TimePoint end = clock_now() + generous;
        while (!is_done()) {
            const TimePoint now = clock_now();
            if (now > end) return false;
            std::array<pollfd, 2> waiting = {
                {{supervisor_->fd(), POLLIN, 0}, {told_.get(), POLLIN, 0}}};
            const TimePoint next =
                std::min(supervisor_->next_deadline().value_or(end), now + Millis(50));
            const auto rest = std::chrono::ceil<Millis>(std::max(next, now) - now);
            (void)::poll(waiting.data(), waiting.size(), static_cast<int>(rest.count()));
            if ((waiting[0].revents & POLLIN) != 0) supervisor_->on_ready(clock_now() + ahead_);
            supervisor_->on_time(clock_now() + ahead_);
        }
        return true;
    }

    // Advances the supervisor's clock.
    void pass(Millis time) { ahead_ += time; }

    void kill() { ::kill(pid_, SIGKILL); } // our own child, and not reaped yet

private:
    [[noreturn]] static void run(UniqueFd& told, pid_t parent, const Body& body,
                                 const std::function<bool()>& prepare,
                                 const std::vector<int>& calls) {
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (const int signal : {SIGABRT, SIGSEGV, SIGTERM})
            ::signal(signal, SIG_DFL); // doctest's handlers would report on behalf of the parent
        // The child must not inherit the test's listeners: each holder of one counts as a listener.
        const auto kept = static_cast<unsigned>(told.get());
        if (kept > 3) (void)::syscall(SYS_close_range, 3U, kept - 1, 0U);
        (void)::syscall(SYS_close_range, kept + 1, ~0U, 0U);
        if (::getppid() != parent || !prepare()) ::_exit(1);
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        UniqueFd listener = notify(calls);
        if (!listener || !send_descriptor(told.get(), listener.get())) ::_exit(1);
        listener.reset();
        const std::string text = body();
        (void)!::write(told.get(), text.data(), text.size());
        ::_exit(0);
    }

    pid_t pid_ = 0;
    UniqueFd told_;
    std::unique_ptr<sandbox::Supervisor> supervisor_;
    Millis ahead_{0}; // how far the supervisor's clock is ahead
};

inline std::string in_words(int error) {
    return error == 0 ? "connected" : ::strerrorname_np(error);
}

} // namespace ew::test
