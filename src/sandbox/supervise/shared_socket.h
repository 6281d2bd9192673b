// A copy of a descriptor of somebody who does not wish us well: a socket of a confined program, on
// which its connect(2) is carried out here, in the loop. Copies share their flags and options, so
// the program can at any moment make the socket one that waits: by O_NONBLOCK between our look and
// the kernel's, or, when it has closed its own copies and ours is the last, by SO_LINGER. What
// would wait is therefore interrupted, after longest_wait.
#pragma once

#include "base/clock.h"
#include "base/unique_fd.h"

#include <optional>
#include <string_view>

namespace ew::sandbox {

class SharedSocket {
public:
    static constexpr Millis longest_wait{1};

    explicit SharedSocket(UniqueFd fd) : fd_(std::move(fd)) {}

    ~SharedSocket() { close(); }

    SharedSocket(SharedSocket&&) noexcept = default;
    SharedSocket& operator=(SharedSocket&&) = delete;
    SharedSocket(const SharedSocket&) = delete;
    SharedSocket& operator=(const SharedSocket&) = delete;

    int get() const { return fd_.get(); }

    // Would its owner's calls wait?
    bool is_blocking() const;

    // 0 or an errno; EINPROGRESS or EALREADY: it is under way, and to be called again, with the
    // same address, when epoll(7) reports the socket (EPOLLOUT or an error). That second call is
    // what makes the kernel take note of the outcome: without it, a socket whose connect failed
    // could not be connected again. The owner's flags are as before afterwards.
    int connect(std::string_view address);

    // How long its owner's connect(2) waits at most (SO_SNDTIMEO, socket(7)). Absent: as long as
    // the kernel tries.
    std::optional<Millis> longest_connect() const;

private:
    void close();

    UniqueFd fd_;
};

} // namespace ew::sandbox
