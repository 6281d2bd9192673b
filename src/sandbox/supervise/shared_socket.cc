#include "sandbox/supervise/shared_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <csignal>

namespace ew::sandbox {

namespace {

constexpr time_t longer_than_any_connect = 24L * 60 * 60; // seconds

void do_nothing(int) {}

// Of a further connect(2) after one that is pending.
int result_of(int connect) {
    if (connect == 0 || errno == EISCONN) return 0;
    return errno == EALREADY ? EINPROGRESS : errno;
}

bool is_internet(int domain) {
    return domain == AF_INET || domain == AF_INET6;
}

int& users_of_timer() {
    static int users = 0; // InterruptedWaits that live
    return users;
}

void set_timer(const itimerval& timer) {
    (void)::setitimer(ITIMER_REAL, &timer, nullptr); // cannot fail
}

void handle_alarm() {
    struct sigaction action = {};
    action.sa_handler = do_nothing; // without SA_RESTART
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    (void)::sigaction(SIGALRM, &action, nullptr);      // cannot fail
    (void)::sigprocmask(SIG_UNBLOCK, &alarm, nullptr); // cannot fail
}

int option(int socket, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(socket, SOL_SOCKET, name, &value, &size) == 0 ? value : 0;
}

} // namespace

bool SocketKind::is_unix() const {
    return domain == AF_UNIX;
}

bool SocketKind::is_udp() const {
    return is_internet(domain) && (protocol == IPPROTO_UDP || protocol == IPPROTO_UDPLITE);
}

bool SocketKind::is_tcp() const {
    return is_internet(domain) && type == SOCK_STREAM && protocol == IPPROTO_TCP;
}

bool SocketKind::is_stream() const {
    return is_tcp() || (is_internet(domain) && type == SOCK_STREAM && protocol == IPPROTO_MPTCP);
}

// The signal repeats, since the first one may come before the call begins to wait.
InterruptedWaits::InterruptedWaits() {
    if (users_of_timer()++ > 0) return;
    static const bool is_handled = (handle_alarm(), true);
    (void)is_handled;
    const auto micros =
        std::chrono::duration_cast<std::chrono::microseconds>(SharedSocket::longest_wait);
    set_timer({{0, 1000}, {0, micros.count()}});
}

InterruptedWaits::~InterruptedWaits() {
    if (--users_of_timer() == 0) set_timer({});
}

SocketKind SharedSocket::kind() const {
    return {option(get(), SO_DOMAIN), option(get(), SO_TYPE), option(get(), SO_PROTOCOL)};
}

bool SharedSocket::is_blocking() const {
    const int flags = ::fcntl(fd_.get(), F_GETFL);
    return flags >= 0 && (flags & O_NONBLOCK) == 0;
}

int SharedSocket::connect(std::string_view address) {
    const int flags = ::fcntl(fd_.get(), F_GETFL);
    if (flags < 0) return errno;
    const bool is_blocking = (flags & O_NONBLOCK) == 0;
    if (is_blocking && ::fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK) != 0) return errno;
    int error = 0;
    {
        const InterruptedWaits interrupted;
        const void* const bytes = address.data();
        const auto size = static_cast<socklen_t>(address.size());
        const auto* const to = static_cast<const sockaddr*>(bytes);
        if (::connect(fd_.get(), to, size) != 0) error = errno;
        // Over loopback the connection exists by now, and there is nothing to wait for.
        if (is_blocking && error == EINPROGRESS) error = result_of(::connect(fd_.get(), to, size));
    }
    if (is_blocking) (void)::fcntl(fd_.get(), F_SETFL, flags); // ignored: it succeeded a moment ago
    return error == EINTR ? EINPROGRESS : error; // it continues by itself (connect(2))
}

void SharedSocket::give_up() {
    int error = 0;
    socklen_t size = sizeof error;
    (void)::shutdown(fd_.get(), SHUT_RDWR); // has no effect if it is not pending any more
    (void)::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size); // takes the error away
}

SocketAddress SharedSocket::local() const {
    sockaddr_storage name = {};
    socklen_t size = sizeof name;
    void* const bytes = &name;
    if (::getsockname(fd_.get(), static_cast<sockaddr*>(bytes), &size) != 0) return {};
    return read_address({static_cast<const char*>(bytes), size});
}

std::optional<Millis> SharedSocket::longest_connect() const {
    timeval limit = {};
    socklen_t size = sizeof limit;
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, &size) != 0) return std::nullopt;
    if (limit.tv_sec == 0 && limit.tv_usec == 0) return std::nullopt;
    if (limit.tv_sec >= longer_than_any_connect) return std::nullopt;
    const auto micros = std::chrono::microseconds(limit.tv_usec);
    return std::chrono::ceil<Millis>(std::chrono::seconds(limit.tv_sec) + micros);
}

void SharedSocket::close() {
    if (!fd_) return;
    const InterruptedWaits interrupted;
    fd_.reset();
}

} // namespace ew::sandbox
