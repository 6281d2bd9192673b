#include "sandbox/supervise/supervisor.h"

#include "os/io.h"
#include "sandbox/supervise/refusals.h"
#include "sandbox/supervise/socket_file.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ew::sandbox {

using Kind = SocketAddress::Kind;
using Source = EventQueue::Source;

Result<std::unique_ptr<Supervisor>> Supervisor::start(UniqueFd listener,
                                                      SupervisorSettings settings,
                                                      std::unique_ptr<Gateway> gateway) {
    std::unique_ptr<Supervisor> made(new Supervisor(std::move(settings)));
    made->gateway_ = std::move(gateway);
    if (made->gateway_) made->connects_.set_network(made->gateway_->network());
    TRY(made->notifications_.open(std::move(listener)));
    TRY(made->events_.open());
    if (made->gateway_ && !made->events_.add(made->gateway_->fd(), Source::gateway, 0, EPOLLIN))
        return os::system_error("epoll_ctl", errno);
    made->set_listening(true);
    if (!made->is_listening_) return os::system_error("epoll_ctl", errno);
    return made;
}

// Removed from the queue, since it would report the end of all callers for ever.
void Supervisor::set_listening(bool listening) {
    const int listener = notifications_.fd();
    if (listener < 0 || listening == is_listening_) return;
    if (listening && !events_.add(listener, Source::notifications, 0, EPOLLIN))
        return; // a later turn tries again
    if (!listening) events_.remove(listener);
    is_listening_ = listening;
}

void Supervisor::on_ready(TimePoint now) {
    take_events(now, clock_now() + longest_turn);
    set_listening(!errands_.is_full());
}

void Supervisor::take_events(TimePoint now, TimePoint end) {
    std::size_t count = 0;
    do {
        const std::span<const EventQueue::Event> events = events_.take();
        count = events.size();
        std::uint32_t of_listener = 0;
        for (const EventQueue::Event& event : events) {
            if (event.source == Source::notifications)
                of_listener = event.events;
            else
                take_event(event, now);
        }
        if ((of_listener & EPOLLIN) != 0) return take_calls(now, end);
        if (of_listener != 0) return stop_listening(now);
    } while (count == EventQueue::most_taken && clock_now() < end);
}

// All processes with the filter have ended.
void Supervisor::stop_listening(TimePoint now) {
    connects_.look_after(now);
    set_listening(false);
    notifications_.close();
    ports_.forget();
}

void Supervisor::take_event(const EventQueue::Event& event, TimePoint now) {
    switch (event.source) {
    case Source::notifications: return;
    case Source::errand_result:
        if (std::optional<CallErrands::Finished> finished = errands_.take_result(event.serial))
            finish(std::move(*finished), now);
        return;
    case Source::errand_caller: return errands_.on_caller(event.serial);
    case Source::socket: return connects_.on_socket(event.serial);
    case Source::gateway: return on_gateway(now);
    }
}

void Supervisor::on_time(TimePoint now) {
    errands_.on_time(now);
    set_listening(!errands_.is_full());
    connects_.on_time(now);
    if (!gateway_) return;
    gateway_->on_time(now);
    take_news(now);
}

std::optional<TimePoint> Supervisor::next_deadline() const {
    const std::optional<TimePoint> next =
        earlier(errands_.next_deadline(), connects_.next_deadline());
    return gateway_ ? earlier(next, gateway_->next_deadline()) : next;
}

void Supervisor::take_calls(TimePoint now, TimePoint end) {
    for (int i = 0; i < most_calls && !errands_.is_full(); ++i) {
        const std::optional<seccomp_notif> call = notifications_.take();
        if (!call) return;
        take_call(*call, now);
        if (clock_now() >= end) return;
    }
}

void Supervisor::take_call(const seccomp_notif& notice, TimePoint now) {
    const std::uint64_t id = notice.id;
    const auto thread = static_cast<pid_t>(notice.pid);
    if (is_file_change(notice.data.nr)) return changes_.take(id, notice.data, thread, now);
    if (notice.data.nr == SYS_socket || notice.data.nr == SYS_socketpair)
        return refuse_datagram_socket(notice);
    if (notice.data.nr != SYS_connect)
        return notifications_.answer(id, ENOSYS); // another filter than ours
    const std::optional<HeldCaller> held = hold_caller(thread);
    if (!held) return notifications_.answer(id, EACCES); // it has ended, or we may not read it
    WaitingCall call;
    call.id = id;
    call.caller = held->caller;
    const int error = read_call(notice.data, call);
    const bool takes = error == 0 && held->handle && call.address.kind == Kind::internet;
    TakenSocket socket = takes ? take_socket(call, held->handle.get()) : std::nullopt;
    if (!notifications_.is_waiting(id)) return; // the facts may be of another process
    if (error != 0) return notifications_.answer(id, error);
    decide(std::move(call), std::move(socket), now);
}

Supervisor::TakenSocket Supervisor::take_socket(WaitingCall& call, int handle) {
    UniqueFd copy = copy_of(handle, call.fd);
    if (!copy) return std::nullopt; // the next try tells why
    SharedSocket socket(std::move(copy));
    call.kind = socket.kind();
    return socket;
}

// The filter notifies sockets of AF_UNIX that send datagrams: each could name any socket file.
void Supervisor::refuse_datagram_socket(const seccomp_notif& notice) {
    const std::optional<Caller> caller = look_at(static_cast<pid_t>(notice.pid));
    std::optional<Denial> denial;
    if (caller) denial = datagram_denial(*caller, notice.data.nr == SYS_socketpair);
    if (denial && notifications_.is_waiting(notice.id)) denials_.add(std::move(*denial));
    notifications_.answer(notice.id, EPROTONOSUPPORT);
}

// In the order in which the kernel checks a call (net/socket.c), where the numbers are int.
int Supervisor::read_call(const seccomp_data& data, WaitingCall& call) const {
    call.fd = static_cast<int>(static_cast<std::uint32_t>(data.args[0]));
    const int size = static_cast<int>(static_cast<std::uint32_t>(data.args[2]));
    const int socket = socket_error(call.caller, call.fd);
    if (socket == EBADF) return EBADF;
    if (size < 0 || static_cast<std::size_t>(size) > longest_address) return EINVAL;
    const std::optional<std::string> bytes =
        read_memory(call.caller, data.args[1], static_cast<std::size_t>(size));
    if (!bytes) return errno == EFAULT ? EFAULT : EACCES;
    if (socket != 0) return socket;
    call.address = read_address(*bytes);
    return call.address.kind == Kind::invalid ? EINVAL : 0;
}

void Supervisor::decide(WaitingCall call, TakenSocket socket, TimePoint now) {
    switch (call.address.kind) {
    case Kind::internet: decide_internet(std::move(call), std::move(socket), now); return;
    case Kind::unspecified:
        (void)connects_.connect(std::move(call), PendingConnects::Sockets::any, now);
        return;
    // Netlink checks whether the connecting process has capabilities (netlink(7)); the errand has
    // none.
    case Kind::path:
    case Kind::abstract:
    case Kind::invalid:
    case Kind::other: begin_connect_errand(std::move(call), now); return;
    }
}

void Supervisor::decide_internet(WaitingCall call, TakenSocket socket, TimePoint now) {
    if (call.kind.is_unix()) {
        socket.reset();
        return notifications_.answer(call.id, EINVAL);
    }
    if (!settings_.is_network_off)
        return (void)connect(std::move(call), std::move(socket), PendingConnects::Sockets::any,
                             now);
    const bool is_held = settings_.has_own_network && call.address.is_loopback();
    if (!is_held && gateway_) return decide_host(std::move(call), std::move(socket), now);
    socket.reset();
    if (!is_held) return refuse_internet(call);
    if (const std::optional<bool> wants_machine = ports_.wants_machine(call))
        return decide_port(std::move(call), *wants_machine, now);
    std::optional<CallErrands::Task> task = ports_.task(call, notifications_.fd());
    if (!task) return notifications_.answer(call.id, EAGAIN);
    errands_.begin(std::move(call), std::move(*task), now);
}

void Supervisor::decide_port(WaitingCall call, bool wants_machine, TimePoint now) {
    if (wants_machine) return refuse_internet(call);
    (void)connects_.connect(std::move(call), PendingConnects::Sockets::own, now);
}

void Supervisor::begin_connect_errand(WaitingCall call, TimePoint now) {
    ConnectOrder order;
    order.listener = notifications_.fd();
    order.id = call.id;
    order.caller = call.caller;
    order.fd = call.fd;
    order.address = call.address;
    order.rules = {settings_.has_mounts, settings_.mounts, settings_.writable,
                   settings_.shared_tmp};
    order.has_own_network = settings_.has_own_network;
    order.server = ::getpid();
    CallErrands::Task task;
    task.body = [order] { return encode(connect_for_caller(order)); };
    task.kept = {notifications_.fd()};
    errands_.begin(std::move(call), std::move(task), now);
}

void Supervisor::finish(CallErrands::Finished errand, TimePoint now) {
    if (ChangedFiles::is_about(errand)) return changes_.finish(std::move(errand));
    if (errand.look_ups) {
        const bool wants_machine = ports_.wants_machine(errand);
        // If the call does not wait any more, the caller may be another process.
        if (notifications_.is_waiting(errand.call.id))
            decide_port(std::move(errand.call), wants_machine, now);
        return;
    }
    const ConnectResult result = decode_connect_result(errand.result);
    if (std::optional<Denial> denial = socket_denial(errand, result, settings_.home))
        denials_.add(std::move(*denial));
    notifications_.answer(errand.call.id, result.error);
}

PendingConnects::Outcome Supervisor::connect(WaitingCall call, TakenSocket socket,
                                             PendingConnects::Sockets sockets, TimePoint now) {
    if (!socket) return connects_.connect(std::move(call), sockets, now);
    return connects_.connect(std::move(call), std::move(*socket), sockets, now);
}

// The connect itself is carried out as every other one, on a copy of the socket, which must be of
// the sandbox's network. There it finds the gateway's listener, or nobody.
void Supervisor::decide_host(WaitingCall call, TakenSocket socket, TimePoint now) {
    using Way = Gateway::Way;
    using Sockets = PendingConnects::Sockets;
    const core::Internet& address = call.address.internet;
    if (!call.kind.is_stream()) {
        // The C library connects datagram sockets to find out which address it has.
        if (core::NameTable::has_range(address))
            return (void)connect(std::move(call), std::move(socket), Sockets::own_datagrams, now);
        socket.reset();
        return refuse_internet(call);
    }
    Asker asker = {call.caller.process, program_of(call.caller)};
    if (gateway_->may_ask(address, call.address.port)) asker.argv = words_of(call.caller);
    if (!notifications_.is_waiting(call.id)) return; // the facts may be of another process
    Gateway::Answer answer = gateway_->open(address, call.address.port, asker, now);
    if (answer.way == Way::open)
        return connect_to_host(std::move(call), std::move(socket), answer, now);
    if (answer.way == Way::nowhere)
        return (void)connect(std::move(call), std::move(socket), Sockets::own, now);
    socket.reset();
    switch (answer.way) {
    case Way::refused:
        denials_.add(host_denial(answer.refusal));
        return notifications_.answer(call.id, ECONNREFUSED);
    case Way::later:
        if (held_.size() >= most_held) return notifications_.answer(call.id, EAGAIN);
        held_.push_back(std::move(call));
        return;
    case Way::open:
    case Way::nowhere:
    case Way::full: return notifications_.answer(call.id, EAGAIN);
    }
}

void Supervisor::connect_to_host(WaitingCall call, TakenSocket socket,
                                 const Gateway::Answer& answer, TimePoint now) {
    const Place place = {call.address.internet, call.address.port};
    set_port(call.address, answer.port);
    // The kernel cannot open a connection of several ways from both ends.
    const bool is_single = call.kind.is_tcp();
    call.question = answer.question;
    const PendingConnects::Outcome outcome =
        connect(std::move(call), std::move(socket), PendingConnects::Sockets::own, now);
    if (answer.question != 0 && is_single && outcome.from)
        gateway_->note_caller(answer.question, {outcome.from->internet, outcome.from->port});
    if (outcome.is_connected) gateway_->take_connection(place, now);
}

void Supervisor::on_gateway(TimePoint now) {
    gateway_->on_ready(now);
    take_news(now);
}

void Supervisor::take_news(TimePoint now) {
    take_refusals();
    if (!gateway_->has_news()) return;
    for (WaitingCall& call : std::exchange(held_, {}))
        if (notifications_.is_waiting(call.id)) decide_host(std::move(call), std::nullopt, now);
}

void Supervisor::answer_host(std::uint64_t question, const HostVerdict& verdict, TimePoint now) {
    if (!gateway_) return;
    gateway_->answer(question, verdict, now);
    if (!verdict.is_allowed) connects_.refuse(question);
    take_refusals();
}

std::vector<HostUse> Supervisor::finish_network() {
    if (!gateway_) return {};
    std::vector<HostUse> uses = gateway_->finish();
    take_refusals();
    return uses;
}

void Supervisor::take_refusals() {
    for (const HostRefusal& refusal : gateway_->take_refusals())
        denials_.add(host_denial(refusal));
}

void Supervisor::refuse_internet(const WaitingCall& call) {
    denials_.add(settings_.has_hosts ? no_host_denial(call) : internet_denial(call));
    notifications_.answer(call.id, ENETUNREACH);
}

} // namespace ew::sandbox
