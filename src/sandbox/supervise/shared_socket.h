// A copy of a descriptor of a hostile program: a socket of a confined program, on which its
// connect(2) is carried out here, in the loop. Copies share their flags and options, so at any
// moment the program can make the socket wait: by O_NONBLOCK between our check and the kernel's, or
// by SO_LINGER when it has closed its own copies and ours is the last. So a call that waits is
// interrupted after longest_wait.
#pragma once

#include "base/clock.h"
#include "base/unique_fd.h"
#include "sandbox/supervise/socket_address.h"

#include <optional>
#include <string_view>

namespace ew::sandbox {

// A socket as its options tell. `domain` 0: unknown.
struct SocketKind {
    int domain = 0;
    int type = 0;
    int protocol = 0;

    bool is_unix() const;
    bool is_udp() const;
    bool is_tcp() const;
    bool is_stream() const; // TCP, also by several ways (MPTCP)
};

// While one lives, a call that waits fails with EINTR after SharedSocket::longest_wait. One for
// several calls costs less than one for each. Only for a process with one thread. It takes SIGALRM
// and the timer of real time (setitimer(2)) for good.
class InterruptedWaits {
public:
    InterruptedWaits();
    ~InterruptedWaits();
    InterruptedWaits(const InterruptedWaits&) = delete;
    InterruptedWaits& operator=(const InterruptedWaits&) = delete;
};

class SharedSocket {
public:
    // Longer than a tick of the kernel (4 ms at 250 Hz): an earlier timer has to be programmed into
    // the clock, which costs more than the connect itself.
    static constexpr Millis longest_wait{5};

    explicit SharedSocket(UniqueFd fd) : fd_(std::move(fd)) {}

    ~SharedSocket() { close(); }

    SharedSocket(SharedSocket&&) noexcept = default;
    SharedSocket& operator=(SharedSocket&&) = delete;
    SharedSocket(const SharedSocket&) = delete;
    SharedSocket& operator=(const SharedSocket&) = delete;

    int get() const { return fd_.get(); }

    SocketKind kind() const;

    // Would the calls of its owner wait?
    bool is_blocking() const;

    // Returns 0 or an errno. After EINPROGRESS or EALREADY the connect is pending: call this again,
    // with the same address, when epoll(7) reports the socket (EPOLLOUT or an error). The second
    // call makes the kernel record the result: without it, a socket whose connect failed could not
    // be connected again. The owner's flags are unchanged afterwards.
    int connect(std::string_view address);

    // Ends a connect that is pending, as if it had failed and its owner had been told.
    void give_up();

    // Its own address (getsockname(2)).
    SocketAddress local() const;

    // How long its owner's connect(2) may wait (SO_SNDTIMEO, socket(7)). Returns nullopt if only
    // the kernel limits it.
    std::optional<Millis> longest_connect() const;

    // Also done at its end.
    void close();

private:
    UniqueFd fd_;
};

} // namespace ew::sandbox
