// The client's end of the wire: cuts messages out of what it sends, and writes what is in the
// outbox. It reads no further while the client takes no answers.
#pragma once

#include "os/io.h"
#include "os/poller.h"
#include "protocol/envelope.h"
#include "protocol/framing.h"
#include "server/connection/outbox.h"

namespace ew::transcript {
class Recorder;
}

namespace ew::server {

class Connection {
public:
    // `recorder` may be null; it outlives the connection.
    Connection(os::StdioEnd in, os::StdioEnd out, protocol::Framing framing,
               transcript::Recorder* recorder);

    Outbox& outbox() { return outbox_; }

    // From now on this poller reports the sources client_input and client_output. It outlives the
    // connection, or the next call of this. A fork needs a new one: epoll(7) belongs to both.
    void watch(os::Poller& poller);

    // The poller reports the source client_output.
    void on_output_report();

    // Reads what has come. Does not wait if client_input was reported or the input is always ready.
    void read();

    // The next request, notification or answer. Valid until the next call; null if none has
    // arrived, or the answers to earlier ones must go first. What is no message is refused here.
    protocol::Message* next();

    // The client will send nothing more, and next() has returned all that it sent.
    bool has_ended() const { return has_input_ended_ && is_drained_; }

    // Can something be done without a report of the poller? `wants_messages`: see
    // update_interest().
    bool is_ready(bool wants_messages) const;

    // The input cannot be watched (epoll_ctl(2): EPERM), such as a file: it is always ready.
    bool is_always_readable() const { return !input_is_watchable_; }

    // Messages were read for which there was no room, and there is room again.
    bool has_postponed() const { return has_postponed_ && !outbox_.is_full_of_answers(); }

    // Tells the poller what is of interest. `wants_messages`: the owner would take them now.
    void update_interest(bool wants_messages);

private:
    bool may_read() const;

    os::StdioEnd in_;
    Outbox outbox_;
    transcript::Recorder* recorder_;
    protocol::Deframer deframer_;
    protocol::MessageReader reader_;
    protocol::Message message_;
    os::Poller* poller_ = nullptr;
    bool input_is_watchable_ = true;
    bool input_is_watched_ = false;
    bool output_is_watchable_ = true; // else writing never blocks
    bool output_is_watched_ = false;
    bool has_input_ended_ = false;
    bool has_postponed_ = false; // messages that wait for room for their answers
    bool is_drained_ = false;    // nothing that was read is left
};

} // namespace ew::server
