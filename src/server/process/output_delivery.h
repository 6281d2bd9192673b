// Takes output into logs, and tells it from there to the client. Decides which process floods, and
// in which lane a message goes. The order of messages of one process never changes.
#pragma once

#include "base/clock.h"
#include "server/connection/outbox.h"
#include "server/process/process.h"

#include <cstddef>
#include <string_view>

namespace ew::server {

class OutputDelivery {
public:
    // A process is interactive for this long after input, and again after this long without output,
    // up to an amount of output that a person could be waiting for.
    static constexpr Millis interactive_time{100};
    static constexpr std::size_t interactive_burst = 16 << 10;
    static constexpr std::size_t typed_burst = 64 << 10;

    // Both outlive it.
    OutputDelivery(Outbox& outbox, const TimePoint& now) : outbox_(outbox), now_(now) {}

    // Puts output into the log. Returns how many bytes of it have found room.
    std::size_t append(Process& process, core::Stream stream, std::string_view bytes);

    // So many bytes were put into the space of the log.
    void commit(Process& process, core::Stream stream, std::size_t count);

    // Adds messages for everything undelivered, as far as there is room. Returns true if some of it
    // was delivered.
    bool deliver(Process& process);

    // Somebody typed: its output may overtake for a while.
    void note_typing(Process& process);

    bool is_interactive(const Process& process) const;

    // Is it quiet long enough that its next output is news to a person?
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
