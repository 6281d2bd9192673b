// Errands (os/errand.h), each of which does a step that may wait for one waiting call.
#pragma once

#include "base/clock.h"
#include "base/unique_fd.h"
#include "os/errand.h"
#include "sandbox/supervise/event_queue.h"
#include "sandbox/supervise/notifications.h"
#include "sandbox/supervise/waiting_call.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

class CallErrands {
public:
    static constexpr std::size_t most = 16; // at once

    struct Task {
        std::function<std::string()> body;
        std::vector<int> kept = {}; // descriptors that it uses
        UniqueFd look_ups = {};     // the socket for them, if the task is about a port
        std::string settings = {};  // the file of git's settings that the task is about
    };

    // The result of an errand. Its call has not been answered.
    struct Finished {
        WaitingCall call;
        std::string program; // of the caller, when the errand began
        UniqueFd look_ups;
        std::string settings;
        std::string result;
    };

    // The first two are borrowed. `patience` is how long one errand may take; after it, a connect
    // fails with ETIMEDOUT, and a change of a file continues.
    CallErrands(Notifications& notifications, EventQueue& events, Millis patience)
        : notifications_(notifications), events_(events), patience_(patience) {}

    std::size_t size() const { return running_.size(); }

    bool is_full() const { return running_.size() >= most; }

    // If no errand can be started, a connect fails with EAGAIN, and a change of a file continues.
    void begin(WaitingCall call, Task task, TimePoint now);

    // To be called when the queue reports a result. Returns nullopt if it is not complete yet.
    std::optional<Finished> take_result(std::uint64_t serial);

    // To be called when the queue reports the end of a caller.
    void on_caller(std::uint64_t serial);

    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

private:
    struct Running {
        WaitingCall call;
        std::string program;
        UniqueFd caller; // pidfd: readable when the caller has ended
        os::Errand errand;
        UniqueFd look_ups;
        std::string settings;
    };

    void give_up(const WaitingCall& call, int error);

    using Map = std::map<std::uint64_t, Running>; // by a serial number that is never reused

    Map::iterator end(Map::iterator at);

    Notifications& notifications_;
    EventQueue& events_;
    Millis patience_;
    Map running_;
    std::uint64_t next_serial_ = 1;
};

} // namespace ew::sandbox
