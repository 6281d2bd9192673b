// The descriptors that a supervisor waits for: an epoll(7) that the loop sees as one descriptor.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ew::sandbox {

class EventQueue {
public:
    enum class Source : std::uint8_t {
        notifications,
        errand_result,
        errand_caller, // the process of the caller has ended
        socket,        // of a pending connect
        gateway,       // of a network by host
    };

    struct Event {
        Source source = Source::notifications;
        std::uint64_t serial = 0; // of the owner, as given to add()
        std::uint32_t events = 0; // EPOLLIN …
    };

    static constexpr std::size_t most_taken = 4;

    // Errors: no more descriptors.
    Result<void> open();

    // Readable when take() returns something.
    int fd() const { return epoll_.get(); }

    bool add(int fd, Source source, std::uint64_t serial, std::uint32_t events);

    // To be called before the descriptor is closed: a process that was forked a moment ago may
    // still hold a copy, and an epoll watches a description until its last copy is closed
    // (epoll(7)).
    void remove(int fd);

    // Does not wait. Takes few events at a time, since the others stay ready, while an
    // edge-triggered event that was taken and not handled would be lost. The span is valid until
    // the next call.
    std::span<const Event> take();

private:
    UniqueFd epoll_;
    std::array<Event, most_taken> taken_ = {};
};

} // namespace ew::sandbox
