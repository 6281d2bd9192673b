#include "sandbox/supervise/loopback_ports.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::uint16_t dns_port = 53;

// A service inside belongs to the sandbox. A program that finds nobody may wait for a server that
// starts soon: programs poll for their servers. The port of a name server is the exception: nobody
// starts one there, and a look-up of a name wants the machine's.
bool wants_machine(const WaitingCall& call, Served served) {
    if (served.inside) return false;
    return served.outside || (call.kind.is_udp() && call.address.port == dns_port);
}

} // namespace

std::optional<bool> LoopbackPorts::wants_machine(const WaitingCall& call) {
    const std::optional<Served> served =
        look_ups_ ? look_up(look_ups_, call.address, call.kind.is_udp()) : std::nullopt;
    if (served) return sandbox::wants_machine(call, *served);
    look_ups_ = {};
    return std::nullopt;
}

std::optional<CallErrands::Task> LoopbackPorts::task(const WaitingCall& call, int listener) const {
    std::array<int, 2> ends = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return std::nullopt;
    const auto theirs = std::make_shared<UniqueFd>(ends[1]); // open until the fork of the errand
    PortOrder order;
    order.listener = listener;
    order.id = call.id;
    order.caller = call.caller;
    order.address = call.address;
    order.is_udp = call.kind.is_udp();
    order.server = ::getpid();
    order.hand_over = theirs->get();
    CallErrands::Task task;
    task.body = [order, theirs] { return encode(find_listeners(order)); };
    task.kept = {listener, theirs->get()};
    task.look_ups = UniqueFd(ends[0]);
    return task;
}

// The look-ups arrive in the socket before the result arrives in the pipe.
bool LoopbackPorts::wants_machine(const CallErrands::Finished& errand) {
    PortLookUps found = take_look_ups(errand.look_ups.get());
    if (found && !look_ups_) look_ups_ = std::move(found);
    return sandbox::wants_machine(errand.call, decode_served(errand.result));
}

} // namespace ew::sandbox
