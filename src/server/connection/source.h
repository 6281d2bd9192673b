// The kinds of descriptors that the loop waits for. Server::dispatch() says who handles which.
#pragma once

#include "os/poller.h"

#include <cstdint>

namespace ew::server {

enum class Source : std::uint8_t {
    client_input,
    client_output,
    signals,
    parent, // a process whose end ends us
    bulk,   // the set of processes that flood
    start,  // the report of a start that is under way
    output, // of a process: stdout, or the terminal
    error_output,
    input,      // of a process: its stdin takes bytes again
    machine,    // what can be enforced here is known
    supervisor, // of a sandbox: it asks whether it may
    clearing,   // of a sandbox: what held places for it is gone
    // Of a file process: its start, what it says, what held places for its sandbox.
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

// `serial`: that of the process, the sandbox or whatever else the descriptor belongs to.
constexpr os::Token token_of(Source source, std::uint64_t serial = 0) {
    return {static_cast<std::uint8_t>(source), serial};
}

// The reverse; every token in the loop was made by token_of().
constexpr Source source_of(os::Token token) {
    return static_cast<Source>(token.source);
}

} // namespace ew::server
