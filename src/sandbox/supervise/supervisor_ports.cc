#include "sandbox/supervise/supervisor.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::uint16_t dns_port = 53;

} // namespace

void Supervisor::decide_internet(Call call, TimePoint now) {
    if (call.descriptor.protocol.starts_with("UNIX")) return answer(call.id, EINVAL);
    if (!settings_.is_network_off) return connect_copy(std::move(call), now);
    const bool is_held = settings_.has_own_network && call.address.is_loopback();
    if (!is_held) return refuse_internet(call);
    const std::optional<Served> served =
        ports_ ? look_up(ports_, call.address, call.descriptor.is_udp()) : std::nullopt;
    if (served) return decide_port(std::move(call), *served, now);
    ports_ = {};
    begin_port_errand(std::move(call), now);
}

void Supervisor::begin_port_errand(Call call, TimePoint now) {
    std::array<int, 2> ends = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return answer(call.id, EAGAIN);
    const UniqueFd theirs(ends[1]);
    PortOrder order;
    order.listener = listener_.get();
    order.id = call.id;
    order.caller = call.caller;
    order.address = call.address;
    order.is_udp = call.descriptor.is_udp();
    order.server = ::getpid();
    order.hand_over = theirs.get();
    Task task;
    task.body = [order] { return encode(find_listeners(order)); };
    task.kept = {listener_.get(), theirs.get()};
    task.look_ups = UniqueFd(ends[0]);
    begin_errand(std::move(call), std::move(task), now);
}

// The look-ups are in the socket before the result is in the pipe.
void Supervisor::take_served(Running& running, std::string_view text, TimePoint now) {
    PortLookUps ports = take_look_ups(running.look_ups.get());
    if (ports && !ports_) ports_ = std::move(ports);
    if (!is_waiting(listener_.get(), running.call.id)) return; // the caller may be another by now
    decide_port(std::move(running.call), decode_served(text), now);
}

void Supervisor::decide_port(Call call, Served served, TimePoint now) {
    if (wants_the_machine(call, served)) return refuse_internet(call);
    connect_copy(std::move(call), now);
}

// A service inside is the sandbox's own, and one that may be about to come is worth waiting for:
// programs poll for their servers. Connecting a UDP socket sends nothing; it is how getaddrinfo(3)
// tries addresses, so that nobody waits there means little, except with a name server.
bool Supervisor::wants_the_machine(const Call& call, Served served) const {
    if (served.inside) return false;
    if (served.outside) return true;
    if (call.descriptor.is_udp()) return call.address.port == dns_port;
    return is_alone(call.caller, ::getpid());
}

} // namespace ew::sandbox
