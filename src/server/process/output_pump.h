// Moves output: from descriptors into logs, from logs into the outbox. Decides who floods, and in
// which lane a message goes. The order of messages of one process never changes.
#pragma once

#include "os/poller.h"
#include "server/connection/outbox.h"
#include "server/process/process.h"
#include "server/process/process_table.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ew::server {

class OutputPump {
public:
    // Read per turn: the larger amount when one process floods alone, so that messages are few; the
    // smaller one when others wait, so that they wait briefly.
    static constexpr std::size_t lone_budget = 64 << 10;
    static constexpr std::size_t shared_budget = 16 << 10;
    // A process is interactive for so long after input, and again after so long without output,
    // up to an amount of output that a person could be waiting for.
    static constexpr Millis interactive_time{100};
    static constexpr std::size_t interactive_burst = 16 << 10;
    static constexpr std::size_t typed_burst = 64 << 10;
    // A terminal that nobody has open, while its session lives, is looked at again after this long,
    // and then less and less often.
    static constexpr Millis shortest_patience{50};
    static constexpr Millis longest_patience{3200};

    OutputPump(os::Poller& poller, os::Poller& bulk_poller, Outbox& outbox)
        : poller_(poller), bulk_poller_(bulk_poller), outbox_(outbox) {}

    void watch(Process& process);

    // Reads what is there, at most `budget` bytes of the stream. True: there may be more.
    bool read(Process& process, std::size_t index, std::size_t budget, TimePoint now);

    // Puts output of a process in another environment into its log. Returns how many bytes of it
    // have found room.
    std::size_t append(Process& process, core::Stream stream, std::string_view bytes,
                       TimePoint now);

    // Adds messages for everything undelivered, as far as there is room. True: for some of it.
    bool deliver(Process& process, TimePoint now);

    // Someone typed: its output may overtake for a while.
    void note_typing(Process& process, TimePoint now);

    // Nobody has the terminal open. It cannot be waited for: a hang-up would be reported all the
    // time.
    void rest_terminal(Process& process, TimePoint now);
    void retry_terminal(Process& process);

    // The streams of flooding processes are not even looked at while their lane is full.
    void pause_or_resume_bulk(ProcessTable& table, TimePoint now);

    // Where the next message of this process may go without overtaking an earlier one.
    Lane lane_for(const Process& process, TimePoint now) const;

    // Closes the streams that have nothing to give at this moment.
    void end_silent_streams(Process& process);

private:
    struct Filled {
        std::size_t count;
        bool has_ended;
    };

    void commit(Process& process, core::Stream stream, std::size_t count, TimePoint now);
    bool is_interactive(const Process& process, TimePoint now) const;
    void classify(Process& process, TimePoint now);
    void set_bulk(Process& process, bool is_bulk);
    void set_masked(Process& process, std::size_t index, bool is_masked);
    void start_watching(Process& process, std::size_t index);

    os::Poller& poller_of(const OutputStream& stream) {
        return stream.is_bulk ? bulk_poller_ : poller_;
    }

    void end_stream(Process& process, std::size_t index);
    Filled fill(Process& process, OutputStream& stream, std::size_t budget, TimePoint now);
    void discard(OutputStream& stream, Process& process, std::size_t index);
    bool has_room(Lane lane) const;
    void send_delta(Process& process, const core::OutputLog::Entry& entry, Lane lane);
    void send(Process& process, const core::OutputLog::Entry& entry, Lane lane);

    os::Poller& poller_;
    os::Poller& bulk_poller_;
    Outbox& outbox_;
    bool bulk_is_paused_ = false;
};

} // namespace ew::server
