// Writes what was accepted for programs on this machine into their pipes and terminals, as far as
// they take it.
#pragma once

#include "os/poller.h"
#include "server/local/stream_reader.h"
#include "server/process/process_service.h"

#include <cstdint>

namespace ew::server {

class InputWriter {
public:
    InputWriter(os::Poller& poller, ProcessService& processes, StreamReader& streams)
        : poller_(poller), processes_(processes), streams_(streams) {}

    // No more will come after what is queued. Only notes that: write() acts on it.
    void end(Process& process);

    void write(Process& process);

    // There is room, or the other side has hung up.
    void on_room(std::uint64_t serial);

    // The program has ended, or takes no more: closes the descriptor.
    void let_go(Process& process);

private:
    void write_queued(Process& process);
    void close(Process& process);

    os::Poller& poller_;
    ProcessService& processes_;
    StreamReader& streams_;
};

} // namespace ew::server
