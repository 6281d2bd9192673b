// epoll: waits for descriptors and hands back tokens. Never calls anyone.
#pragma once

#include "base/clock.h"
#include "base/unique_fd.h"

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace ew::os {

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

struct Token {
    Source source = Source::client_input;
    std::uint64_t serial = 0; // of the process; never used twice, so a stale token finds nothing
};

enum class Interest : std::uint32_t { none = 0, read = EPOLLIN, write = EPOLLOUT };

class Poller {
public:
    Poller();

    int fd() const { return epoll_.get(); }

    // False: this kind of descriptor cannot be waited for (a regular file is always ready,
    // epoll(7)).
    bool watch(int fd, Token token, Interest interest);
    void change(int fd, Token token, Interest interest);
    void unwatch(int fd);

    // What is ready now, or when something is. The span is valid until the next call.
    std::span<const Token> wait(std::optional<TimePoint> deadline, TimePoint now);
    std::span<const Token> ready_now();

private:
    std::span<const Token> wait_for(int milliseconds);

    UniqueFd epoll_;
    std::array<Token, 128> tokens_;
};

} // namespace ew::os
