// The seccomp program on the real kernel. Most calls are made in a way that the kernel itself would
// refuse with another error (a closed descriptor, a null pointer), so that the error shows whether
// the filter refused.
#include "sandbox/launch/filter.h"
#include "sandbox/launch/system_calls.h"
#include "support/child_process.h"
#include "support/testing.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using ew::UniqueFd;
using ew::sandbox::FilterOptions;
using ew::sandbox::make_filter;
using ew::sandbox::own_architecture;
using ew::test::ChildOutcome;
using ew::test::in_child;
using ew::test::longest_scene;
namespace calls = ew::sandbox::calls;

namespace {

constexpr unsigned long high = 0xdead'beef'0000'0000;
constexpr unsigned long listener_flags =
    SECCOMP_FILTER_FLAG_NEW_LISTENER | 1UL << 5; // WAIT_KILLABLE_RECV, which old headers lack
constexpr long known_value = 17;                 // at the same address in a child
constexpr int patience = 120'000;                // milliseconds

// Returns the kernel's result: a negative number is an error.
template <class... Arguments>
long kernel(long number, Arguments... arguments) {
    const long result = ::syscall(number, static_cast<unsigned long>(arguments)...);
    return result < 0 ? -errno : result;
}

long kernel_call(const ew::sandbox::SystemCall& call, unsigned long first = 0,
                 unsigned long second = 0, unsigned long third = 0) {
    return kernel(call.number(own_architecture), first, second, third, 0UL, 0UL, 0UL);
}

// Returns what seccomp(2) does, or a negative error.
long install(const FilterOptions& options, unsigned long flags = 0) {
    std::vector<sock_filter> program = make_filter(own_architecture, options);
    const sock_fprog described = {static_cast<unsigned short>(program.size()), program.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
    return kernel(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags,
                  reinterpret_cast<unsigned long>(&described));
}

// Kernels before 5.19 lack the flag, and a process has only one listener: no other is possible if
// the tests are supervised.
bool lacks_listener() {
    const bool has_one =
        in_child([] {
            std::array<sock_filter, 1> allow = {{{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}}};
            const sock_fprog program = {1, allow.data()};
            return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   kernel(SYS_seccomp, SECCOMP_SET_MODE_FILTER, listener_flags,
                          reinterpret_cast<unsigned long>(&program)) >= 0;
        }).is_true;
    if (!has_one) MESSAGE("no listener can be had here");
    return !has_one;
}

// Checks in a confined process; a failed one is reported on stderr.
class Expectations {
public:
    void is(const char* what, long seen, long expected) {
        if (seen == expected) return;
        std::fprintf(stderr, "%s: %ld and not %ld\n", what, seen, expected);
        holds_ = false;
    }

    void works(const char* what, long seen) {
        if (seen >= 0) return;
        std::fprintf(stderr, "%s: %ld\n", what, seen);
        holds_ = false;
    }

    bool hold() const { return holds_; }

private:
    bool holds_ = true;
};

// Connects are not notified, since no supervisor would answer.
FilterOptions unsupervised() {
    FilterOptions options;
    options.notifies_connect = false;
    return options;
}

ChildOutcome confined(const FilterOptions& options,
                      const std::function<void(Expectations&)>& scene) {
    return in_child([&] {
        Expectations expectations;
        expectations.is("the filter", install(options), 0);
        scene(expectations);
        return expectations.hold();
    });
}

void check(const ChildOutcome& outcome) {
    CHECK(outcome.errors == "");
    CHECK(outcome.signal == 0);
    CHECK(outcome.is_true);
}

// Returns the result of socket(2), and closes the socket.
long try_socket(unsigned long family, unsigned long type, unsigned long protocol = 0) {
    const long fd = kernel_call(calls::socket, family, type, protocol);
    if (fd >= 0) ::close(static_cast<int>(fd));
    return fd;
}

int status_of_shell(const char* script) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::execl("/bin/sh", "sh", "-c", script, nullptr);
        ::_exit(127);
    }
    int status = -1;
    ::waitpid(pid, &status, 0);
    return status;
}

// A child that waits to be killed.
pid_t sleeper() {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        ::pause();
}

void end(pid_t pid) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
}

bool send_descriptor(int socket, int fd) {
    char byte = 0;
    iovec vector = {&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
    msghdr message = {};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    return ::sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

bool becomes_readable(int fd) {
    pollfd wanted = {fd, POLLIN, 0};
    return ::poll(&wanted, 1, patience) == 1 && (wanted.revents & POLLIN) != 0;
}

UniqueFd receive_descriptor(int socket) {
    if (!becomes_readable(socket)) return {};
    char byte = 0;
    iovec vector = {&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
    msghdr message = {};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return {};
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return {};
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    return UniqueFd(fd);
}

// A confined process whose calls are notified to the test. It runs the scene and exits with whether
// that returned true.
class Supervised {
public:
    Supervised(const FilterOptions& options, const std::function<bool()>& scene) {
        int pair[2] = {-1, -1};
        REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
        const UniqueFd ours(pair[0]);
        UniqueFd theirs(pair[1]);
        pid_ = ::fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            ::alarm(longest_scene);
            const long listener = install(options, listener_flags);
            if (listener < 0 || !send_descriptor(theirs.get(), static_cast<int>(listener)))
                ::_exit(2);
            ::close(static_cast<int>(listener));
            ::_exit(scene() ? 0 : 1);
        }
        theirs.reset();
        listener_ = receive_descriptor(ours.get());
    }

    ~Supervised() {
        if (pid_ > 0) end(pid_);
    }

    Supervised(const Supervised&) = delete;
    Supervised& operator=(const Supervised&) = delete;

    bool has_listener() const { return listener_.get() >= 0; }

    // Returns the next notified call, or all zeros if none comes.
    seccomp_notif next() const {
        seccomp_notif call = {};
        if (!becomes_readable(listener_.get())) return {};
        if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return {};
        return call;
    }

    bool answer(const seccomp_notif& call, int error) const {
        seccomp_notif_resp response = {};
        response.id = call.id;
        response.error = -error;
        return ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &response) == 0;
    }

    bool ends_well() {
        int status = 0;
        const bool ended = ::waitpid(pid_, &status, 0) == pid_;
        pid_ = -1;
        return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

private:
    pid_t pid_ = -1;
    UniqueFd listener_;
};

#if defined(__x86_64__)
long int80(long number) {
    long result = number;
    asm volatile("int $0x80"
                 : "+a"(result)
                 : "b"(0), "c"(0), "d"(0)
                 : "memory", "r8", "r9", "r10", "r11");
    return result;
}
#endif

} // namespace

TEST_SUITE_BEGIN("sandbox/filter on the kernel");

TEST_CASE("the kernel takes the program, whatever the options") {
    check(in_child([] {
        Expectations expectations;
        for (unsigned bits = 0; bits < 16; ++bits) {
            FilterOptions options = unsupervised();
            options.allows_internet = (bits & 1) != 0;
            options.has_own_processes = (bits & 2) != 0;
            options.allows_unix_datagrams = (bits & 4) != 0;
            options.allows_owner_changes = (bits & 8) != 0;
            expectations.is("the filter", install(options), 0);
        }
        return expectations.hold();
    }));
}

TEST_CASE("a confined process gets sockets of the families it may use and no others") {
    check(confined(unsupervised(), [](Expectations& expect) {
        expect.works("stream", try_socket(AF_UNIX, SOCK_STREAM));
        expect.works("seqpacket", try_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC));
        expect.works("tcp", try_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK));
        expect.works("udp", try_socket(AF_INET, SOCK_DGRAM));
        expect.works("netlink", try_socket(AF_NETLINK, SOCK_RAW, 0));
        expect.is("datagram", try_socket(AF_UNIX, SOCK_DGRAM), -EPROTONOSUPPORT);
        expect.is("raw unix", try_socket(AF_UNIX, SOCK_RAW), -EPROTONOSUPPORT);
        expect.is("raw", try_socket(AF_INET, SOCK_RAW, 1), -EPERM);
        expect.is("packet", try_socket(AF_INET, SOCK_PACKET, 0x300), -EPERM);
        expect.is("audit", try_socket(AF_NETLINK, SOCK_RAW, 9), -EAFNOSUPPORT);
        expect.is("diag", try_socket(AF_NETLINK, SOCK_RAW, 4), -EAFNOSUPPORT);
        for (const unsigned family : {0U, 15U, 17U, 21U, 29U, 30U, 31U, 38U, 40U, 44U})
            expect.is("family", try_socket(family, SOCK_STREAM), -EAFNOSUPPORT);
    }));
}

TEST_CASE("a confined process without internet gets no socket of it") {
    FilterOptions options = unsupervised();
    options.allows_internet = false;

    check(confined(options, [](Expectations& expect) {
        expect.is("tcp", try_socket(AF_INET, SOCK_STREAM), -EACCES);
        expect.is("udp 6", try_socket(AF_INET6, SOCK_DGRAM), -EACCES);
        expect.is("high bits", try_socket(high | AF_INET, SOCK_STREAM), -EACCES);
        expect.works("unix", try_socket(AF_UNIX, SOCK_STREAM));
    }));
}

TEST_CASE("high bits in an argument neither open nor close anything") {
    check(confined(unsupervised(), [](Expectations& expect) {
        expect.works("stream", try_socket(high | AF_UNIX, high | SOCK_STREAM, high));
        expect.is("datagram", try_socket(high | AF_UNIX, high | SOCK_DGRAM), -EPROTONOSUPPORT);
        expect.is("vsock", try_socket(high | 40, high | SOCK_STREAM), -EAFNOSUPPORT);
        expect.is("audit", try_socket(AF_NETLINK, SOCK_RAW, high | 9), -EAFNOSUPPORT);
        const unsigned long closed = 0xffff'ffff;
        expect.is("TIOCSTI", kernel_call(calls::ioctl, closed, TIOCSTI), -EPERM);
        expect.is("TIOCSTI", kernel_call(calls::ioctl, closed, high | TIOCSTI), -EPERM);
        expect.is("TIOCLINUX", kernel_call(calls::ioctl, closed, high | TIOCLINUX), -EPERM);
        expect.is("TCGETS", kernel_call(calls::ioctl, closed, high | TCGETS), -EBADF);
        expect.is("personality", kernel_call(calls::personality, high | READ_IMPLIES_EXEC), -EPERM);
        expect.works("personality", kernel_call(calls::personality, high | 0xffff'ffff));
        expect.is("clone", kernel_call(calls::clone, high | CLONE_NEWUSER | SIGCHLD), -EPERM);
    }));
}

TEST_CASE("a confined process gets no namespaces, keys, rings or programs in the kernel") {
    check(confined(unsupervised(), [](Expectations& expect) {
        expect.is("clone3", kernel_call(calls::clone3), -ENOSYS);
        expect.is("unshare", kernel_call(calls::unshare, CLONE_NEWUSER), -EPERM);
        expect.is("unshare", kernel_call(calls::unshare, CLONE_NEWUSER | CLONE_NEWNS), -EPERM);
        expect.works("unshare", kernel_call(calls::unshare, CLONE_FILES));
        expect.is("setns", kernel_call(calls::setns, 0xffff'ffff), -EPERM);
        expect.is("keyctl", kernel_call(calls::keyctl, KEYCTL_GET_KEYRING_ID, 0xffff'fffc, 1),
                  -ENOSYS);
        expect.is("add_key", kernel_call(calls::add_key), -ENOSYS);
        expect.is("request_key", kernel_call(calls::request_key), -ENOSYS);
        expect.is("io_uring", kernel_call(calls::io_uring_setup, 1), -ENOSYS);
        expect.is("bpf", kernel_call(calls::bpf, 0xffff'ffff), -EPERM);
        expect.is("perf", kernel_call(calls::perf_event_open), -EACCES);
        expect.is("userfaultfd", kernel_call(calls::userfaultfd, 0xffff'ffff), -EPERM);
        expect.is("mount", kernel_call(calls::mount), -EPERM);
        expect.is("open_tree_attr", kernel_call(calls::open_tree_attr, 0xffff'ffff), -EPERM);
        expect.is("handle", kernel_call(calls::open_by_handle_at, 0xffff'ffff), -EPERM);
        expect.is("pidfd_getfd", kernel_call(calls::pidfd_getfd, 0xffff'ffff), -EPERM);
        expect.is("kcmp", kernel_call(calls::kcmp), -EPERM);
        expect.is("vmsplice", kernel_call(calls::vmsplice, 0xffff'ffff), -ENOSYS);
    }));
}

TEST_CASE("a pair of sockets works for streams, and there is none for datagrams") {
    check(confined(unsupervised(), [](Expectations& expect) {
        int pair[2] = {-1, -1};
        const auto pair_of = [&pair](int type) {
            return ::socketpair(AF_UNIX, type, 0, pair) == 0 ? 0 : -errno;
        };
        expect.is("datagrams", pair_of(SOCK_DGRAM), -EPROTONOSUPPORT);
        expect.is("raw", pair_of(SOCK_RAW | SOCK_CLOEXEC), -EPROTONOSUPPORT);
        expect.is("stream", pair_of(SOCK_STREAM | SOCK_CLOEXEC), 0);

        std::array<char, 8> read = {};
        expect.is("send", ::send(pair[0], "hello", 5, MSG_NOSIGNAL), 5);
        expect.is("recv", ::recv(pair[1], read.data(), read.size(), 0), 5);
        expect.is("shutdown", ::shutdown(pair[0], SHUT_WR), 0);
        expect.is("end", ::recv(pair[1], read.data(), read.size(), 0), 0);
    }));
}

TEST_CASE("a thread wakes a waiting loop through a pair of sockets") {
    check(confined(unsupervised(), [](Expectations& expect) {
        int pair[2] = {-1, -1};
        expect.is("pair", ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        const UniqueFd loop(::epoll_create1(EPOLL_CLOEXEC));
        epoll_event event = {};
        event.events = EPOLLIN;
        expect.is("watch", ::epoll_ctl(loop.get(), EPOLL_CTL_ADD, pair[0], &event), 0);

        std::thread thread([&pair] { (void)::send(pair[1], "\0", 1, MSG_NOSIGNAL); });
        expect.is("wait", ::epoll_wait(loop.get(), &event, 1, patience), 1);
        thread.join();
    }));
}

TEST_CASE("a shell with a pipe, threads and an eventfd work under the filter") {
    check(confined(unsupervised(), [](Expectations& expect) {
        expect.is("shell", status_of_shell("test \"$(echo one | cat)\" = one"), 0);
        const UniqueFd counter(::eventfd(0, EFD_CLOEXEC));
        std::thread([&counter] { (void)::eventfd_write(counter.get(), 1); }).join();
        expect.is("counter", becomes_readable(counter.get()) ? 1 : 0, 1);
    }));
}

TEST_CASE("a confined process traces its own child and reads its memory") {
    check(confined(unsupervised(), [](Expectations& expect) {
        const pid_t child = sleeper();
        long copy = 0;
        const iovec local = {&copy, sizeof(copy)};
        const iovec remote = {const_cast<long*>(&known_value), sizeof(known_value)};
        expect.is("read", ::process_vm_readv(child, &local, 1, &remote, 1, 0), sizeof(copy));
        expect.is("copy", copy, known_value);
        expect.is("seize", kernel_call(calls::ptrace, PTRACE_SEIZE, static_cast<unsigned>(child)),
                  0);
        end(child);
    }));
}

TEST_CASE("a confined process among those of others traces nothing and limits only itself") {
    FilterOptions options = unsupervised();
    options.has_own_processes = false;

    check(confined(options, [](Expectations& expect) {
        const pid_t child = sleeper();
        const auto number = static_cast<unsigned>(child);
        rlimit limit = {};
        expect.is("seize", kernel_call(calls::ptrace, PTRACE_SEIZE, number), -EPERM);
        expect.is("read", kernel_call(calls::process_vm_readv, number), -EPERM);
        expect.is("write", kernel_call(calls::process_vm_writev, number), -EPERM);
        expect.is("limit", kernel_call(calls::prlimit64, number, RLIMIT_CPU), -EPERM);
        expect.is("own limit", ::getrlimit(RLIMIT_NOFILE, &limit), 0);
        expect.is("own limit", ::setrlimit(RLIMIT_NOFILE, &limit), 0);
        end(child);
    }));
}

TEST_CASE("owners and attributes stay as they are under that option") {
    FilterOptions options = unsupervised();
    options.allows_owner_changes = false;

    check(confined(options, [](Expectations& expect) {
        expect.is("fchown", kernel_call(calls::fchown, 0xffff'ffff), -EPERM);
        expect.is("fsetxattr", kernel_call(calls::fsetxattr, 0xffff'ffff), -EPERM);
        expect.is("setxattrat", kernel_call(calls::setxattrat, 0xffff'ffff), -EPERM);
        expect.is("fchmod", ::fchmod(-1, 0) == 0 ? 0 : -errno, -EBADF);
    }));
}

TEST_CASE("a confined process may confine itself further") {
    if (lacks_listener()) return;

    check(confined(unsupervised(), [](Expectations& expect) {
        const long listener = install(unsupervised(), listener_flags);
        expect.works("a filter with a listener", listener);
        expect.is("socket", try_socket(AF_UNIX, SOCK_DGRAM), -EPROTONOSUPPORT);
    }));
}

#if defined(__x86_64__)
TEST_CASE("a socket cannot be had by a call of x32") {
    check(confined(unsupervised(), [](Expectations& expect) {
        expect.is("x32", kernel(0x4000'0000 | SYS_socket, AF_INET, SOCK_STREAM, 0), -ENOSYS);
        expect.is("x32's own ioctl", kernel(514, 0xffff'ffff, TIOCSTI, 0), -ENOSYS);
    }));
}

TEST_CASE("a call by int $0x80 kills a confined process") {
    constexpr long socket_of_i386 = 359;
    constexpr long getpid_of_i386 = 20;
    if (!in_child([] { return int80(getpid_of_i386) == ::getpid(); }).is_true) {
        MESSAGE("this kernel takes no calls by int $0x80");
        return;
    }

    const auto by_int80 = [](long number) {
        return confined(unsupervised(), [number](Expectations&) { (void)int80(number); });
    };
    CHECK(by_int80(socket_of_i386).signal == SIGSYS);
    CHECK(by_int80(getpid_of_i386).signal == SIGSYS);
}
#endif

TEST_CASE("a connect is told to the listener, and its answer is what the program sees") {
    if (lacks_listener()) return;

    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, "/nonexistent/socket");
    Supervised process({}, [&address] {
        const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const auto* generic = reinterpret_cast<const sockaddr*>(&address);
        return ::connect(fd.get(), generic, sizeof(address)) == -1 && errno == ENETUNREACH;
    });
    REQUIRE(process.has_listener());

    const seccomp_notif call = process.next();
    CHECK(call.data.nr == SYS_connect);
    CHECK(call.data.args[1] == reinterpret_cast<std::uintptr_t>(&address)); // forked: the same
    CHECK(call.data.args[2] == sizeof(address));

    CHECK(process.answer(call, ENETUNREACH));
    CHECK(process.ends_well());
}

TEST_CASE("a connect that waits for its answer is not broken off by a signal") {
    if (lacks_listener()) return;

    Supervised process({}, [] {
        struct sigaction handler = {};
        handler.sa_handler = [](int) {};
        ::sigaction(SIGUSR1, &handler, nullptr);
        return ::connect(-1, nullptr, 0) == -1 && errno == ENETUNREACH;
    });
    REQUIRE(process.has_listener());

    const seccomp_notif call = process.next();
    CHECK(::kill(static_cast<pid_t>(call.pid), SIGUSR1) == 0);

    CHECK(process.answer(call, ENETUNREACH));
    CHECK(process.ends_well());
}

TEST_CASE("an open for writing is told and one for reading is not") {
    if (lacks_listener()) return;

    FilterOptions options;
    options.notifies_writes = true;
    Supervised process(options, [] {
        const UniqueFd reading(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        const UniqueFd writing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        return reading.get() >= 0 && writing.get() == -1 && errno == EROFS &&
               ::mkdirat(AT_FDCWD, "/nonexistent/directory", 0700) == -1 && errno == EACCES;
    });
    REQUIRE(process.has_listener());

    const seccomp_notif opening = process.next();
    CHECK(opening.data.nr == SYS_openat);
    CHECK((opening.data.args[2] & O_ACCMODE) == O_WRONLY);
    CHECK(process.answer(opening, EROFS));

    const seccomp_notif making = process.next();
    CHECK(making.data.nr == SYS_mkdirat);
    CHECK(process.answer(making, EACCES));
    CHECK(process.ends_well());
}

TEST_SUITE_END();
