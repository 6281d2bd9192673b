// The connection to the client: splits its bytes into messages, and writes the messages of the
// outbox. It stops reading while the client takes no answers.
#pragma once

#include "base/clock.h"
#include "os/io.h"
#include "os/poller.h"
#include "protocol/envelope.h"
#include "protocol/framing.h"
#include "protocol/settings.h"
#include "server/connection/outbox.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ew::mcp {
class Dialect;
}

namespace ew::protocol {
struct Settings;
}

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

    // Decides whether a message holds input that its terminal does not show. A recording then shows
    // the length of that input only.
    using Secrecy = std::function<bool(const protocol::Message&)>;

    void set_secrecy(Secrecy holds_secret) { holds_secret_ = std::move(holds_secret); }

    // From now on the client speaks this dialect: next() returns what it makes of the client's
    // messages. It outlives the connection.
    void set_dialect(mcp::Dialect& dialect);

    // The session of the dialect has begun. What waited for it is translated now.
    void open_dialect(const protocol::Settings& settings);

    // For the timers of the dialect.
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    // From now on this poller reports the sources client_input and client_output. It outlives the
    // connection, or the next call of watch(). After a fork, the child needs a new poller: parent
    // and child share an epoll instance (epoll(7)).
    void watch(os::Poller& poller);

    // The poller has reported the source client_output.
    void on_output_report();

    // Reads the bytes that have arrived. Does not block if client_input was reported or the input
    // is always readable.
    void read();

    // Returns the next request, notification or answer; it is valid until the next call. Returns
    // null if no message has arrived, or if the client must first take earlier answers. Refuses
    // bytes that are not a message.
    protocol::Message* next();

    // The client will send nothing more, and next() has returned all that it sent.
    bool has_ended() const { return has_input_ended_ && is_drained_; }

    // Returns true if there is work without a report of the poller. `wants_messages`: see
    // update_interest().
    bool is_ready(bool wants_messages) const;

    // Returns true for an input that cannot be watched (epoll_ctl(2): EPERM), such as a file.
    bool is_always_readable() const { return !input_is_watchable_; }

    // Messages were postponed because there was no room for their answers, and now there is; or
    // the dialect has some.
    bool has_postponed() const {
        return (has_postponed_ || has_translated()) && !outbox_.is_full_of_answers();
    }

    // Tells the poller which events to report. `wants_messages`: the owner handles messages now.
    void update_interest(bool wants_messages);

private:
    bool may_read() const;
    void record(std::string_view text);
    bool has_translated() const;
    bool translate(const protocol::Frame& frame);
    protocol::Message* next_translated();

    os::StdioEnd in_;
    Outbox outbox_;
    transcript::Recorder* recorder_;
    mcp::Dialect* dialect_ = nullptr;
    std::string translated_; // the text of message_, if the dialect has made it
    protocol::Deframer deframer_;
    protocol::MessageReader reader_;
    protocol::Message message_;
    Secrecy holds_secret_;
    os::Poller* poller_ = nullptr;
    bool input_is_watchable_ = true;
    bool input_is_watched_ = false;
    bool output_is_watchable_ = true; // otherwise writing never blocks
    bool output_is_watched_ = false;
    bool has_input_ended_ = false;
    bool has_postponed_ = false; // messages wait for room for their answers
    bool is_drained_ = false;    // all bytes that were read are handled
};

} // namespace ew::server
