#include "sandbox/supervise/pending_connects.h"

#include "sandbox/gateway/tcp.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <iterator>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr Millis longest_look{5}; // in one turn of the loop

// Time between two checks of the waiting callers: whether they have ended or have a signal. The
// kernel reports neither.
constexpr Millis pause_between_looks{200};

// A call that a signal interrupts with this error is restarted, or fails with EINTR, as the
// signal's handler asks for (sigaction(2), SA_RESTART). The kernel exports it in no header for
// programs.
constexpr int begin_anew = 512; // ERESTARTSYS

bool makes_connections(int socket) {
    int type = SOCK_STREAM;
    socklen_t size = sizeof type;
    return ::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_DGRAM;
}

bool is_under_way(int error) {
    return error == EINPROGRESS || error == EALREADY;
}

} // namespace

PendingConnects::Outcome PendingConnects::connect(WaitingCall call, Sockets sockets,
                                                  TimePoint now) {
    UniqueFd copy = copy_of(call.caller, call.fd);
    const int why = copy ? 0 : errno == EBADF ? EBADF : EACCES;
    SharedSocket socket(std::move(copy));
    if (!notifications_.is_waiting(call.id)) return {}; // the copy may be of another process
    if (why == 0) return connect(std::move(call), std::move(socket), sockets, now);
    notifications_.answer(call.id, why);
    return {};
}

// Closes the copy before it answers the caller: the caller's own close must be the last. What is
// asked of the socket is asked of the copy: the caller may have put another socket in its place.
PendingConnects::Outcome PendingConnects::connect(WaitingCall call, SharedSocket socket,
                                                  Sockets sockets, TimePoint now) {
    int error = is_allowed(call.caller, socket.get(), sockets) ? 0 : ENETUNREACH;
    const bool is_blocking = socket.is_blocking();
    if (is_blocking && pending_.size() >= most) forget_gone();
    if (error == 0 && is_blocking && pending_.size() >= most) error = EAGAIN;
    Outcome outcome;
    {
        const InterruptedWaits interrupted;
        if (error == 0) error = socket.connect(call.address.bytes);
        outcome.is_connected = error == 0;
        if (is_under_way(error)) outcome.from = socket.local();
        if (!is_blocking || !is_under_way(error)) socket.close();
    }
    if (is_blocking && is_under_way(error))
        keep(std::move(call), std::move(socket), now);
    else
        notifications_.answer(call.id, error);
    return outcome;
}

bool PendingConnects::is_allowed(const Caller& caller, int socket, Sockets sockets) const {
    if (sockets == Sockets::any) return true;
    const bool is_own =
        (network_ != 0 && network_of(socket) == network_) || is_of_network_of(caller, socket);
    return is_own && (sockets != Sockets::own_datagrams || !makes_connections(socket));
}

void PendingConnects::keep(WaitingCall call, SharedSocket socket, TimePoint now) {
    std::optional<TimePoint> deadline;
    if (const std::optional<Millis> longest = socket.longest_connect()) deadline = now + *longest;
    const std::uint64_t serial = next_serial_++;
    const auto at =
        pending_.emplace(serial, Pending{std::move(call), std::move(socket), deadline}).first;
    // Edge-triggered: an event after which the connect is still pending is not reported again.
    const bool is_watched = events_.add(at->second.socket.get(), EventQueue::Source::socket, serial,
                                        EPOLLOUT | EPOLLET);
    if (!is_watched) (void)end(at, EAGAIN);
    if (!next_look_ && is_watched) next_look_ = now + pause_between_looks;
}

void PendingConnects::refuse(std::uint64_t question) {
    for (auto at = pending_.begin(); at != pending_.end();) {
        const bool waits_for_it = at->second.call.question == question;
        if (waits_for_it) at->second.socket.give_up();
        at = waits_for_it ? end(at, ECONNREFUSED) : std::next(at);
    }
}

// If another thread waits for the same connection, both callers get the same result.
void PendingConnects::on_socket(std::uint64_t serial) {
    const auto at = pending_.find(serial);
    if (at == pending_.end()) return; // it ended in this turn
    const int error = at->second.socket.connect(at->second.call.address.bytes);
    if (!is_under_way(error)) (void)end(at, error == EISCONN ? 0 : error);
}

// The caller's own copy of the socket would keep it in the queue.
PendingConnects::Map::iterator PendingConnects::end(Map::iterator at, int error) {
    const std::uint64_t id = at->second.call.id;
    events_.remove(at->second.socket.get());
    const auto next = pending_.erase(at);
    notifications_.answer(id, error);
    return next;
}

void PendingConnects::on_time(TimePoint now) {
    for (auto at = pending_.begin(); at != pending_.end();)
        at = is_due(at->second.deadline, now) ? end(at, EINPROGRESS) : std::next(at);
    if (is_due(next_look_, now)) look_after(now);
}

std::optional<TimePoint> PendingConnects::next_deadline() const {
    std::optional<TimePoint> next = next_look_;
    for (const auto& entry : pending_)
        next = earlier(next, entry.second.deadline);
    return next;
}

void PendingConnects::forget_gone() {
    for (auto at = pending_.begin(); at != pending_.end();) {
        const bool is_gone = !notifications_.is_waiting(at->second.call.id);
        at = is_gone ? end(at, EINTR) : std::next(at);
    }
}

// A call with a time limit of its own is not restarted after a signal (socket(7), SO_SNDTIMEO).
// Each check for a signal reads a file: when the time of a turn is over, the next check continues
// from there.
void PendingConnects::look_after(TimePoint now) {
    forget_gone();
    const TimePoint stop = clock_now() + longest_look;
    auto at = pending_.lower_bound(look_from_);
    while (at != pending_.end() && clock_now() < stop) {
        const int error = at->second.deadline ? EINTR : begin_anew;
        at = has_signal(at->second.call.caller) ? end(at, error) : std::next(at);
    }
    const bool is_done = at == pending_.end();
    look_from_ = is_done ? 0 : at->first;
    next_look_.reset();
    if (!pending_.empty()) next_look_ = now + (is_done ? pause_between_looks : Millis(1));
}

} // namespace ew::sandbox
