// The kinds of descriptors for which the loop waits. Worker::dispatch() and Handshake::dispatch()
// call their handlers.
#pragma once

#include "os/poller.h"

#include <cstdint>

namespace ew::server {

enum class Source : std::uint8_t {
    client_input,
    client_output,
    signals,
    parent, // a process whose end ends the server
    bulk,   // the poller of the streams that flood
    start,  // the report of a start that is under way
    output, // stdout or the terminal of a process
    error_output,
    input,      // stdin of a process takes bytes again
    machine,    // it is known what this machine can enforce
    supervisor, // the supervisor of a sandbox: the kernel asks for a decision
    clearing,   // the placeholders of a sandbox are gone
    // Of a file process: its start, its messages, and the end of the placeholders of its sandbox.
    file_start,
    file_socket,
    patch, // an errand of a patch
    file_clearing,
    file_watch, // something happened where a file is missing
    // Of the program that leads to another environment: its start, its stdout, stderr and stdin.
    environment_start,
    environment_output,
    environment_error,
    environment_input,
};

// `serial`: serial number of the process, the sandbox or whatever else owns the descriptor.
constexpr os::Token token_of(Source source, std::uint64_t serial = 0) {
    return {static_cast<std::uint8_t>(source), serial};
}

// Requires a token from token_of(), as every token in the loop is.
constexpr Source source_of(os::Token token) {
    return static_cast<Source>(token.source);
}

} // namespace ew::server
