// Takes the output of a process in place of the client of process/*, and tells it in events of its
// own: exec/command.
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

    // Of the call that started the process.
    virtual std::uint64_t serial_of_call() const = 0;

    // After each read, before the log forgets anything.
    virtual void look_at(const core::OutputLog& log) = 0;

    // Returns false until its first event was sent: no output may come before that.
    virtual bool takes_output() const = 0;

    // Its last event was sent. Later output is only kept for those who ask for it.
    virtual bool has_ended() const = 0;

    // Everything was told, and nobody waits for an answer.
    virtual bool is_settled() const = 0;

    // Of the notification for one piece of output, up to the number of that piece.
    virtual std::string_view delta_header() const = 0;
};

} // namespace ew::server
