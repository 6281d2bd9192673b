// A second program of execward that serves this process over a socket. Starting it never waits, and
// it dies with this process.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace ew::os {

class Companion {
public:
    // Executes `program` with `arguments`. Its stdin is the other end of socket(), and its output
    // is discarded. If it cannot be executed, the socket reaches its end. Errors: no more processes
    // or descriptors.
    static Result<Companion> begin(const std::string& program,
                                   const std::vector<std::string>& arguments);
    // Ends the program with SIGTERM. The program blocks SIGTERM during work that must not be
    // interrupted. The owner of the loop reaps the process.
    ~Companion();
    Companion(Companion&&) noexcept = default;
    Companion& operator=(Companion&&) = delete;
    Companion(const Companion&) = delete;
    Companion& operator=(const Companion&) = delete;

    UniqueFd take_socket() { return std::move(socket_); }

private:
    Companion() = default;

    UniqueFd socket_;
    UniqueFd pidfd_;
};

} // namespace ew::os
