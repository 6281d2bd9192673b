// What comes back from a program in another environment, on its way into the log of its process:
// events in order, what is missing between them, its end, and the loss of all the rest.
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "protocol/sandbox.h"
#include "server/environment/remote_events.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::protocol {
struct Message;
}

namespace ew::server {

class Outbox;
class ProcessService;
class RemoteHandle;
struct Process;

class RemoteOutput {
public:
    struct Parts {
        Process& process;
        ProcessService& processes;
        Outbox& outbox;
        RemoteHandle& there;
    };

    RemoteOutput(const Parts& parts, bool asked_for_sandbox)
        : parts_(parts), asked_for_sandbox_(asked_for_sandbox) {}

    void take(std::uint64_t seq, peer::Event event);

    // The answer to a read. Returns what is wrong with it, or an empty text.
    std::string on_read(const protocol::Message& answer);

    // Nobody tells what is missing.
    void give_up_gap();

    // Takes all that is there, as far as the log has room and as it was numbered.
    void drain();

    // The log has no room for what is there.
    bool is_held_up() const { return is_held_up_; }

    // Nothing more will come.
    void lose(Error loss);

    bool is_lost() const { return loss_.has_value(); }

    // Answers the calls that wait for the end of what was lost.
    void end_ending(const Error& loss);

    // Soon the end must be known, and that nothing more comes.
    void await_end();

    // The server did not want to end it: it may run or not.
    void doubt_end();

    // As soon as the client has room for it.
    void tell_lost_output();

    void check_timers();
    std::optional<TimePoint> next_deadline() const;

    // What the sandbox refused, as the end told.
    const std::vector<protocol::Denial>& denials() const { return denials_; }

    std::uint64_t denial_count() const { return denial_count_; }

private:
    // It should have told its end by now: it was ended, or has closed its output.
    struct MissingEnd {
        TimePoint due = {};
        bool is_doubtful = false; // the server did not want to end it
        bool is_asked = false;    // how it is
    };

    bool drain_all();
    bool drain_events();
    bool drain_one(peer::Event& event);
    void note_end(peer::PeerEnd end);
    void note_loss();
    void read_gap();
    void miss_end();
    void lose_unheard();
    TimePoint patience() const;

    Parts parts_;
    bool asked_for_sandbox_;
    RemoteEvents events_;
    bool is_held_up_ = false;
    std::optional<MissingEnd> missing_end_;
    std::optional<Error> loss_;
    std::vector<protocol::Denial> denials_;
    std::uint64_t denial_count_ = 0;
};

} // namespace ew::server
