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
#include "os/errand.h"
#include "sandbox/supervise/caller.h"
#include "sandbox/supervise/denials.h"
#include "sandbox/supervise/file_changes.h"
#include "sandbox/supervise/port_listeners.h"
#include "sandbox/supervise/shared_socket.h"
#include "sandbox/supervise/socket_address.h"
#include "sandbox/supervise/socket_file.h"

#include <linux/seccomp.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

struct SupervisorSettings {
    bool is_network_off = true;
    bool has_own_network = true; // a network namespace: loopback is the sandbox's own
    bool has_mounts = true;      // a socket file may be reached where its mount is writable
    // All roots of what may be written, as far as they are known by name. Socket files without
    // mounts: below these. Refused changes of files: told of what lies elsewhere,
    std::vector<std::string> writable = {};
    std::vector<std::string> read_only = {};  // or in here: see FilePlaces
    std::vector<std::string> own = {};        // and never of what is in here
    std::vector<std::string> shared_tmp = {}; // writable, but the sockets in them are the machine's
    Millis patience{5000};                    // for one connect to a socket file
};

class Supervisor {
public:
    static constexpr std::size_t most_errands = 16; // at once; the kernel keeps the others
    static constexpr int most_calls = 64;           // that are looked at in one turn of the loop,
    static constexpr Millis longest_turn{5};        // and none after that time; the others wait
    // Connects to the internet that wait for the other side, at once. One more fails with EAGAIN.
    static constexpr std::size_t most_connecting = 256;

    // Errors: no more descriptors; the kernel has no notifications.
    static Result<std::unique_ptr<Supervisor>> start(UniqueFd listener,
                                                     SupervisorSettings settings);
    ~Supervisor() = default; // ends the errands; the kernel answers calls that wait with ENOSYS
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    // Readable (it is an epoll descriptor) when on_ready() has something to do.
    int fd() const { return epoll_.get(); }

    // Never waits. Handles at most a bounded number of calls, for a bounded time.
    void on_ready(TimePoint now);
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    const DenialLog& denials() const { return denials_; }

    std::size_t errands() const { return errands_.size(); }

    std::size_t connecting() const { return connecting_.size(); }

private:
    // A call that waits for its answer.
    struct Call {
        std::uint64_t id = 0;
        Caller caller = {};
        int fd = -1;
        Descriptor descriptor = {};
        SocketAddress address = {};
    };

    struct Running {
        Call call;
        std::string program;
        UniqueFd process; // pidfd: readable when the caller has ended
        os::Errand errand;
        UniqueFd look_ups; // of an errand about a port: they come through here; else empty
    };

    struct Task {
        std::function<std::string()> body;
        std::vector<int> kept = {}; // descriptors that it uses
        UniqueFd look_ups = {};     // as in Running
    };

    // A caller that waits for its socket to be connected.
    struct Connecting {
        Call call;
        SharedSocket socket;
        std::optional<TimePoint> deadline; // that the caller has set itself
    };

    // What epoll hands back: a serial, and what of it there is something of.
    enum class Part : std::uint8_t { listener, result, process, socket };

    static constexpr unsigned part_bits = 2;
    static constexpr std::uint64_t listener_token = 0; // serials begin with 1

    static constexpr std::uint64_t token_of(std::uint64_t serial, Part part) {
        return serial << part_bits | static_cast<std::uint64_t>(part);
    }

    // Both by a serial that is never used twice.
    using Errands = std::map<std::uint64_t, Running>;
    using Connects = std::map<std::uint64_t, Connecting>;

    explicit Supervisor(SupervisorSettings settings)
        : settings_(std::move(settings)),
          places_{settings_.writable, settings_.read_only, settings_.own} {}

    Result<void> prepare(UniqueFd listener);
    bool watch(int fd, std::uint64_t token, std::uint32_t events);
    void set_listening(bool listening);
    void take_event(std::uint64_t token, TimePoint now);

    void take_events(TimePoint now, TimePoint end);
    void stop_listening(TimePoint now);

    void take_calls(TimePoint now, TimePoint end);
    bool take_call(TimePoint now);
    void judge(std::uint64_t id, const seccomp_data& data, pid_t thread, TimePoint now);
    void tell_file_change(std::uint64_t id, const seccomp_data& data, pid_t thread);
    // 0, or what the kernel says of such a call.
    int read_call(const seccomp_data& data, Call& call) const;
    void decide(Call call, TimePoint now);

    void decide_internet(Call call, TimePoint now);
    void begin_port_errand(Call call, TimePoint now);
    void take_served(Running& running, std::string_view text, TimePoint now);
    void decide_port(Call call, Served served, TimePoint now);
    bool wants_the_machine(const Call& call, Served served) const;

    void connect_copy(Call call, TimePoint now);
    void keep_connecting(Call call, SharedSocket socket, TimePoint now);
    void take_connected(Connects::iterator at);
    Connects::iterator end_connect(Connects::iterator at, int error);
    void forget_connects_of_the_gone();
    void look_after_connects(TimePoint now);

    void begin_connect_errand(Call call, TimePoint now);
    void begin_errand(Call call, Task task, TimePoint now);
    void take_result(Errands::iterator at, TimePoint now);
    void forget_if_gone(Errands::iterator at);
    void end_errand(Errands::iterator at);
    void remember_refusal(const Running& running, const ConnectResult& result);

    void refuse_internet(const Call& call);
    void refuse_abstract(const Call& call);
    void answer(std::uint64_t id, int error);
    void send(std::uint64_t id, int error, std::uint32_t flags);

    SupervisorSettings settings_;
    FilePlaces places_;
    seccomp_notif_sizes sizes_ = {};
    std::vector<char> buffer_; // for one notification or one answer, as large as the kernel's
    UniqueFd listener_;
    UniqueFd epoll_;
    bool is_listening_ = false;
    std::uint64_t next_serial_ = 1;
    PortLookUps ports_; // empty until an errand has made them
    Errands errands_;
    Connects connecting_;
    std::optional<TimePoint> next_look_; // after those who wait; absent: nobody does
    std::uint64_t look_from_ = 0;        // the serial with which it goes on
    DenialLog denials_;
};

// Socket files that the C library and others try on the way to something else, and do without:
// refused without a denial.
bool is_tried_in_passing(std::string_view path);

} // namespace ew::sandbox
