// Answers the kernel when a confined program calls connect(2), and records denials. It lives in the
// loop and never waits: an errand with a deadline does what may wait (a connect to a socket file:
// the path may be slow, the queue of the other side full), and a connect to the internet is begun
// here and watched. The kernel says whether a port is served, once an errand has made the sockets
// to ask it.
//
// The kernel continues a call with the address and the descriptor as they are at that time, not as
// they were when read (seccomp_unotify(2)), and other threads may share the caller's memory and
// descriptors. So no connect is ever continued: an allowed one is carried out on a copy of the
// caller's socket, with our copy of the address. Only calls that are merely reported continue.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/gateway/gateway.h"
#include "sandbox/supervise/call_errands.h"
#include "sandbox/supervise/changed_files.h"
#include "sandbox/supervise/denials.h"
#include "sandbox/supervise/event_queue.h"
#include "sandbox/supervise/loopback_ports.h"
#include "sandbox/supervise/notifications.h"
#include "sandbox/supervise/pending_connects.h"
#include "sandbox/supervise/supervision.h"
#include "sandbox/supervise/waiting_call.h"

#include <linux/seccomp.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ew::sandbox {

class Supervisor {
public:
    static constexpr int most_calls = 64;        // in one turn of the loop; the others wait
    static constexpr Millis longest_turn{5};     // after it, no further call is taken
    static constexpr std::size_t most_held = 64; // connects that wait for the gateway

    // Errors: no more descriptors; the kernel has no notifications.
    // `gateway`: of a policy with Network::hosts; otherwise null.
    static Result<std::unique_ptr<Supervisor>> start(UniqueFd listener, SupervisorSettings settings,
                                                     std::unique_ptr<Gateway> gateway = nullptr);
    ~Supervisor() = default; // ends the errands; the kernel answers calls that wait with ENOSYS
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    // Readable (it is an epoll descriptor) when on_ready() has something to do.
    int fd() const { return events_.fd(); }

    // Never waits. Handles a bounded number of calls, for a bounded time.
    void on_ready(TimePoint now);
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    const DenialLog& denials() const { return denials_; }

    // See Gateway::answer().
    void answer_host(std::uint64_t question, const HostVerdict& verdict, TimePoint now);

    // To be called once, when the command has ended: see Gateway::finish().
    std::vector<HostUse> finish_network();

    // At CallErrands::most, further calls wait in the kernel.
    std::size_t errands() const { return errands_.size(); }

    std::size_t connecting() const { return connects_.size(); }

private:
    // A copy of the caller's socket, which is to be closed before anything that may take long.
    // nullopt: it has to be copied first.
    using TakenSocket = std::optional<SharedSocket>;

    explicit Supervisor(SupervisorSettings settings)
        : settings_(std::move(settings)),
          errands_(notifications_, events_, settings_.patience),
          connects_(notifications_, events_),
          changes_(settings_, notifications_, errands_, denials_) {}

    void set_listening(bool listening);
    void take_events(TimePoint now, TimePoint end);
    void take_event(const EventQueue::Event& event, TimePoint now);
    void stop_listening(TimePoint now);

    void take_calls(TimePoint now, TimePoint end);
    void take_call(const seccomp_notif& notice, TimePoint now);
    void refuse_datagram_socket(const seccomp_notif& notice);

    // Returns 0, or the kernel's error for such a call.
    int read_call(const seccomp_data& data, WaitingCall& call) const;
    static TakenSocket take_socket(WaitingCall& call, int handle);

    void decide(WaitingCall call, TakenSocket socket, TimePoint now);
    void decide_internet(WaitingCall call, TakenSocket socket, TimePoint now);
    void decide_port(WaitingCall call, bool wants_machine, TimePoint now);
    void begin_connect_errand(WaitingCall call, TimePoint now);
    void finish(CallErrands::Finished errand, TimePoint now);
    void refuse_internet(const WaitingCall& call);

    void decide_host(WaitingCall call, TakenSocket socket, TimePoint now);
    void connect_to_host(WaitingCall call, TakenSocket socket, const Gateway::Answer& answer,
                         TimePoint now);
    PendingConnects::Outcome connect(WaitingCall call, TakenSocket socket,
                                     PendingConnects::Sockets sockets, TimePoint now);
    void on_gateway(TimePoint now);
    void take_news(TimePoint now); // of the gateway
    void take_refusals();

    SupervisorSettings settings_;
    Notifications notifications_;
    EventQueue events_;
    bool is_listening_ = false;
    LoopbackPorts ports_;
    DenialLog denials_;
    CallErrands errands_;
    PendingConnects connects_;
    ChangedFiles changes_;
    std::unique_ptr<Gateway> gateway_;
    std::vector<WaitingCall> held_; // until the gateway has news
};

} // namespace ew::sandbox
