// The output of a program in another environment, on its way into the log of its process: events in
// order, the gaps between them, the end, and the loss of all the rest.
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

    // Takes the answer to a read. Returns what is wrong with it, or an empty text.
    std::string on_read(const protocol::Message& answer);

    // The server does not report the missing events.
    void give_up_gap();

    // Takes the events that have arrived, in order, as far as the log has room.
    void drain();

    // The log has no room for the events that have arrived.
    bool is_held_up() const { return is_held_up_; }

    // Events have arrived that are not in the log, or are being asked for.
    bool is_behind() const { return is_held_up_ || events_.is_gap_open(); }

    // No further event will come.
    void lose(Error loss);

    bool is_lost() const { return loss_.has_value(); }

    // Answers the calls that wait for the end of a lost program.
    void end_ending(const Error& loss);

    // The server must report the end soon, and that no more output follows.
    void await_end();

    // The server refused to end the program: it may still run.
    void doubt_end();

    // Reports lost output as soon as the client has room for it.
    void tell_lost_output();

    void check_timers();
    std::optional<TimePoint> next_deadline() const;

    // The denials of the sandbox, as the event of the end reported them.
    const std::vector<protocol::Denial>& denials() const { return denials_; }

    std::uint64_t denial_count() const { return denial_count_; }

private:
    // The end should have been reported by now: the program was ended, or has closed its output.
    struct MissingEnd {
        TimePoint due = {};
        bool is_doubtful = false; // the server refused to end the program
        bool is_asked = false;    // the server was asked for its state
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
