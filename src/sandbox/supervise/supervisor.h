// Answers the kernel when a confined program calls connect(2), and remembers what was refused.
// Lives in the loop and never waits: what may wait (a connect to a socket file: the path may be
// slow, the queue of the other side full) is done by a disposable process with a deadline, and a
// connect to the internet is begun here and watched. Who serves a port is asked of the kernel, once
// such a process has made the sockets to do so with.
//
// The kernel lets a call go on with the address and the descriptor as they are by then, not as they
// were looked at (seccomp_unotify(2)), and others may share the memory and the descriptors of the
// caller. So no connect ever goes on: what is allowed is carried out on a copy of the caller's
// socket, with our copy of the address. Only calls that are merely to be told go on.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/supervise/call_errands.h"
#include "sandbox/supervise/denials.h"
#include "sandbox/supervise/event_queue.h"
#include "sandbox/supervise/file_changes.h"
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

namespace ew::sandbox {

class Supervisor {
public:
    static constexpr int most_calls = 64;    // that are looked at in one turn of the loop,
    static constexpr Millis longest_turn{5}; // and none after that time; the others wait

    // Errors: no more descriptors; the kernel has no notifications.
    static Result<std::unique_ptr<Supervisor>> start(UniqueFd listener,
                                                     SupervisorSettings settings);
    ~Supervisor() = default; // ends the errands; the kernel answers calls that wait with ENOSYS
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    // Readable (it is an epoll descriptor) when on_ready() has something to do.
    int fd() const { return events_.fd(); }

    // Never waits. Handles at most a bounded number of calls, for a bounded time.
    void on_ready(TimePoint now);
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    const DenialLog& denials() const { return denials_; }

    // While there are CallErrands::most, the kernel keeps further calls.
    std::size_t errands() const { return errands_.size(); }

    std::size_t connecting() const { return connects_.size(); }

private:
    explicit Supervisor(SupervisorSettings settings)
        : settings_(std::move(settings)),
          places_{settings_.writable, settings_.read_only, settings_.own},
          errands_(notifications_, events_, settings_.patience),
          connects_(notifications_, events_) {}

    void set_listening(bool listening);
    void take_events(TimePoint now, TimePoint end);
    void take_event(const EventQueue::Event& event, TimePoint now);
    void stop_listening(TimePoint now);

    void take_calls(TimePoint now, TimePoint end);
    void take_call(const seccomp_notif& notice, TimePoint now);
    void tell_file_change(std::uint64_t id, const seccomp_data& data, pid_t thread);
    // 0, or what the kernel says of such a call.
    int read_call(const seccomp_data& data, WaitingCall& call) const;

    void decide(WaitingCall call, TimePoint now);
    void decide_internet(WaitingCall call, TimePoint now);
    void decide_port(WaitingCall call, bool wants_machine, TimePoint now);
    void begin_connect_errand(WaitingCall call, TimePoint now);
    void finish(CallErrands::Finished errand, TimePoint now);
    void refuse_internet(const WaitingCall& call);
    void refuse_abstract(const WaitingCall& call);

    SupervisorSettings settings_;
    FilePlaces places_;
    Notifications notifications_;
    EventQueue events_;
    bool is_listening_ = false;
    LoopbackPorts ports_;
    CallErrands errands_;
    PendingConnects connects_;
    DenialLog denials_;
};

} // namespace ew::sandbox
