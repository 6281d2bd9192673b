#include "sandbox/supervise/supervisor.h"

#include <sys/epoll.h>

#include <cerrno>
#include <iterator>
#include <utility>

namespace ew::sandbox {

namespace {

// Between two looks at those who wait for a connection: whether they have gone, or a signal has
// come. The kernel tells neither.
constexpr Millis pause_between_looks{200};

// What the kernel makes of a call that a signal has cut short, before it runs the handler: begun
// anew, or EINTR, as the handler asks for (sigaction(2), SA_RESTART). In none of its headers for
// programs.
constexpr int begin_anew = 512; // ERESTARTSYS

} // namespace

// The copy is closed before the caller is answered: its own close is to be the last.
void Supervisor::connect_copy(Call call, TimePoint now) {
    UniqueFd copy = copy_of(call.caller, call.fd);
    const int why = copy ? 0 : errno;
    std::optional<SharedSocket> socket(std::move(copy));
    if (!is_waiting(listener_.get(), call.id)) return; // the copy may be of another's
    if (why != 0) return answer(call.id, why == EBADF ? EBADF : EACCES);
    const bool is_blocking = socket->is_blocking();
    if (is_blocking && connecting_.size() >= most_connecting) forget_connects_of_the_gone();
    const bool has_room = !is_blocking || connecting_.size() < most_connecting;
    const int error = has_room ? socket->connect(call.address.bytes) : EAGAIN;
    const bool is_under_way = error == EINPROGRESS || error == EALREADY;
    if (is_blocking && is_under_way)
        return keep_connecting(std::move(call), std::move(*socket), now);
    socket.reset();
    answer(call.id, error);
}

void Supervisor::keep_connecting(Call call, SharedSocket socket, TimePoint now) {
    std::optional<TimePoint> deadline;
    if (const std::optional<Millis> longest = socket.longest_connect()) deadline = now + *longest;
    const std::uint64_t serial = next_serial_++;
    const auto at =
        connecting_.emplace(serial, Connecting{std::move(call), std::move(socket), deadline});
    // By edge: an event after which the connection is still under way is not told again.
    const bool is_watched =
        watch(at.first->second.socket.get(), token_of(serial, Part::socket), EPOLLOUT | EPOLLET);
    if (!is_watched) (void)end_connect(at.first, EAGAIN);
    if (!next_look_ && is_watched) next_look_ = now + pause_between_looks;
}

// Who waits for a connection that another thread has waited for as well is told the same.
void Supervisor::take_connected(Connects::iterator at) {
    const int error = at->second.socket.connect(at->second.call.address.bytes);
    if (error == EINPROGRESS || error == EALREADY) return;
    (void)end_connect(at, error == EISCONN ? 0 : error);
}

// Taken out of the epoll by hand: the caller's own copy would keep it in there (epoll(7)).
Supervisor::Connects::iterator Supervisor::end_connect(Connects::iterator at, int error) {
    const std::uint64_t id = at->second.call.id;
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, at->second.socket.get(), nullptr);
    const auto next = connecting_.erase(at);
    answer(id, error);
    return next;
}

void Supervisor::forget_connects_of_the_gone() {
    for (auto at = connecting_.begin(); at != connecting_.end();) {
        const bool is_gone = !is_waiting(listener_.get(), at->second.call.id);
        at = is_gone ? end_connect(at, EINTR) : std::next(at);
    }
}

// A call with a time limit of its own is not begun anew after a signal (socket(7), SO_SNDTIMEO).
// Whether there is a signal takes reading a file each: when the time of a turn is over, the next
// look goes on from there.
void Supervisor::look_after_connects(TimePoint now) {
    forget_connects_of_the_gone();
    const TimePoint end = clock_now() + longest_turn;
    auto at = connecting_.lower_bound(look_from_);
    while (at != connecting_.end() && clock_now() < end) {
        const Connecting& connect = at->second;
        const int error = connect.deadline ? EINTR : begin_anew;
        at = has_signal(connect.call.caller) ? end_connect(at, error) : std::next(at);
    }
    const bool is_done = at == connecting_.end();
    look_from_ = is_done ? 0 : at->first;
    next_look_.reset();
    if (!connecting_.empty()) next_look_ = now + (is_done ? pause_between_looks : Millis(1));
}

} // namespace ew::sandbox
