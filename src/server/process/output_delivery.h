// Puts output into logs, and sends it from there to the client. Decides which process floods, and
// the lane of each message. The order of messages of one process never changes.
#pragma once

#include "base/clock.h"
#include "server/connection/outbox.h"
#include "server/process/process.h"

#include <cstddef>
#include <string_view>

namespace ew::server {

class OutputDelivery {
public:
    // How long a process is interactive after input, and how long it must be without output to
    // become interactive again. It stops being interactive after more output than a person waits
    // for.
    static constexpr Millis interactive_time{100};
    static constexpr std::size_t interactive_burst = 16 << 10;
    static constexpr std::size_t typed_burst = 64 << 10;

    // `outbox` and `now` outlive this object.
    OutputDelivery(Outbox& outbox, const TimePoint& now) : outbox_(outbox), now_(now) {}

    // Puts output into the log. Returns the number of bytes for which the log had room.
    std::size_t append(Process& process, core::Stream stream, std::string_view bytes);

    // `count` bytes were put into the space of the log.
    void commit(Process& process, core::Stream stream, std::size_t count);

    // Adds messages for undelivered output, as far as there is room. Returns true if some of it was
    // delivered.
    bool deliver(Process& process);

    // A person typed: for a short time the output of the process may overtake bulk output.
    void note_typing(Process& process);

    bool is_interactive(const Process& process) const;

    // Returns true if there was no output for interactive_time.
    bool is_quiet(const Process& process) const;

    bool has_room(Lane lane) const;

private:
    Lane lane_for(const Process& process) const;
    void send_delta(Process& process, const core::OutputLog::Entry& entry, Lane lane);
    void send(Process& process, const core::OutputLog::Entry& entry, Lane lane);
    void end_message(Process& process, Lane lane);

    Outbox& outbox_;
    const TimePoint& now_;
};

} // namespace ew::server
