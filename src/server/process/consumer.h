// Takes the output of a process instead of the client of process/*, and reports it in its own
// events: exec/command.
#pragma once

#include "core/output/output_log.h"

#include <cstdint>
#include <string_view>

namespace ew::server {

class Consumer {
public:
    Consumer() = default;
    virtual ~Consumer() = default;
    Consumer(const Consumer&) = delete;
    Consumer& operator=(const Consumer&) = delete;

    // The serial number of the call that started the process.
    virtual std::uint64_t serial_of_call() const = 0;

    // Called after each read, before the log drops anything.
    virtual void look_at(const core::OutputLog& log) = 0;

    // Returns false until the first event has been sent: no output may precede that event.
    virtual bool takes_output() const = 0;

    // Returns true if the last event has been sent. Later output is only kept for requests that
    // read it.
    virtual bool has_ended() const = 0;

    // Returns true if everything has been reported and no request waits for an answer.
    virtual bool is_settled() const = 0;

    // The text of the notification for one piece of output, up to the number of that piece.
    virtual std::string_view delta_header() const = 0;
};

} // namespace ew::server
