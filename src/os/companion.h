// Another program of our own that works for this process over a socket: it is forked and executed
// without anything that could wait, and dies with us.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace ew::os {

class Companion {
public:
    // `program` is executed with `arguments`; the other end of socket() is its standard input, its
    // output goes nowhere. That it cannot be executed shows as the end of the socket.
    // Errors: no more processes or descriptors.
    static Result<Companion> begin(const std::string& program,
                                   const std::vector<std::string>& arguments);
    // Ends it with SIGTERM, which it holds back while it must not be torn; whoever owns the loop
    // reaps it.
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
