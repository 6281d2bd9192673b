// Carries out connects on copies of the callers' sockets, and keeps those that wait for the other
// side. A caller is answered when its connect is done, when its own time limit is over, or when a
// signal must end its call.
#pragma once

#include "base/clock.h"
#include "sandbox/supervise/event_queue.h"
#include "sandbox/supervise/notifications.h"
#include "sandbox/supervise/shared_socket.h"
#include "sandbox/supervise/waiting_call.h"

#include <cstdint>
#include <map>
#include <optional>

namespace ew::sandbox {

class PendingConnects {
public:
    static constexpr std::size_t most = 256; // at once; a further one fails with EAGAIN

    // Both are borrowed.
    PendingConnects(Notifications& notifications, EventQueue& events)
        : notifications_(notifications), events_(events) {}

    std::size_t size() const { return pending_.size(); }

    // Which sockets may be connected: all, those of the caller's network, or of these only such as
    // make no connections.
    enum class Sockets : std::uint8_t { any, own, own_datagrams };

    // The network that most callers have: see network_of().
    void set_network(std::uint64_t cookie) { network_ = cookie; }

    struct Outcome {
        std::optional<SocketAddress> from = {}; // the connect is still under way, and comes from it
        bool is_connected = false;
    };

    // Connects a copy of the caller's socket, and answers the call, now or later. For other
    // sockets, the address is unreachable.
    Outcome connect(WaitingCall call, SharedSocket socket, Sockets sockets, TimePoint now);

    // The same, but copies the socket first, and asks again whether the call waits.
    Outcome connect(WaitingCall call, Sockets sockets, TimePoint now);

    // The answer to that question is no: the callers that wait in their call are told at once.
    void refuse(std::uint64_t question);

    // To be called when the queue reports a socket.
    void on_socket(std::uint64_t serial);

    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    // Answers the calls of callers that have ended or have a signal.
    void look_after(TimePoint now);

private:
    struct Pending {
        WaitingCall call;
        SharedSocket socket;
        std::optional<TimePoint> deadline; // set by the caller itself
    };

    using Map = std::map<std::uint64_t, Pending>; // by a serial number that is never reused

    bool is_allowed(const Caller& caller, int socket, Sockets sockets) const;
    void keep(WaitingCall call, SharedSocket socket, TimePoint now);
    Map::iterator end(Map::iterator at, int error);
    void forget_gone();

    Notifications& notifications_;
    EventQueue& events_;
    std::uint64_t network_ = 0;
    Map pending_;
    std::uint64_t next_serial_ = 1;
    std::optional<TimePoint> next_look_; // at the waiting callers; nullopt: no caller waits
    std::uint64_t look_from_ = 0;        // the serial number at which it continues
};

} // namespace ew::sandbox
