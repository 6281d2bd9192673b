// Writes accepted input into the pipes and terminals of programs on this machine, as far as they
// take it.
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

    // Notes that nothing follows the queued bytes; write() acts on it.
    void end(Process& process);

    void write(Process& process);

    // The descriptor has room, or the other side has hung up.
    void on_room(std::uint64_t serial);

    // The program has ended, or takes no more input: closes the descriptor.
    void let_go(Process& process);

private:
    void write_queued(Process& process);
    void wait_for_room(Process& process);
    void close(Process& process);

    os::Poller& poller_;
    ProcessService& processes_;
    StreamReader& streams_;
};

} // namespace ew::server
