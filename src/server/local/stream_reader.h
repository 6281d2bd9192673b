// Reads the output of programs on this machine from their descriptors into their logs. Streams that
// flood are watched in a poller of their own, which is switched off while the client does not read.
#pragma once

#include "base/clock.h"
#include "os/poller.h"
#include "server/local/local_process.h"
#include "server/process/process_service.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ew::server {

class StreamReader {
public:
    // Bytes to read per turn: the larger amount when one process floods alone, to send few
    // messages; the smaller one when other processes wait.
    static constexpr std::size_t lone_budget = 64 << 10;
    static constexpr std::size_t shared_budget = 16 << 10;
    // How long to wait before looking again at a terminal that nobody has open while its session
    // lives. The time grows from the shortest to the longest.
    static constexpr Millis shortest_patience{50};
    static constexpr Millis longest_patience{3200};

    StreamReader(os::Poller& poller, os::Poller& bulk_poller, ProcessService& processes)
        : poller_(poller), bulk_poller_(bulk_poller), processes_(processes) {}

    void watch(Process& process);

    // Reads at most `budget` bytes of the stream, and reports the result.
    void on_output(std::uint64_t serial, std::size_t index, std::size_t budget);

    // The leader has ended: reads what is readable now, which is reported before the exit.
    void read_backlog(Process& process);

    // The log has room again.
    void resume(Process& process);

    // Nobody has the terminal open. The poller cannot wait for it: it would report a hang-up all
    // the time.
    void rest_terminal(Process& process);
    void retry_terminal(Process& process);

    // Closes the streams that have no data at this moment.
    void end_silent(Process& process);

    // A person typed: for a short time the output is read without waiting for the poller's turn.
    void note_typing(Process& process);
    void read_hot();

    bool has_hot() const { return !hot_.empty(); }

    // Stops watching the streams of flooding processes while their lane is full.
    void pause_or_resume_bulk();

private:
    struct Filled {
        std::size_t count = 0;
        bool has_ended = false;
        bool is_empty_now = false; // nothing more can be read at this moment
    };

    std::size_t read(Process& process, std::size_t index, std::size_t budget);
    Filled fill(Process& process, const OutputStream& stream, std::size_t budget);
    void discard(Process& process, std::size_t index);
    void end_stream(Process& process, std::size_t index);
    void set_bulk(Process& process, bool is_bulk);
    void set_masked(Process& process, std::size_t index, bool is_masked);
    void start_watching(Process& process, std::size_t index);

    os::Poller& poller_of(const OutputStream& stream) {
        return stream.is_bulk ? bulk_poller_ : poller_;
    }

    bool is_hot(const Process& process) const;
    void forget_cold();

    os::Poller& poller_;
    os::Poller& bulk_poller_;
    ProcessService& processes_;
    bool bulk_is_paused_ = false;
    std::vector<std::uint64_t> hot_; // serial numbers of processes with recent input
};

} // namespace ew::server
