// The descriptors that a gateway waits for: an epoll(7) that the loop sees as one descriptor.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ew::sandbox {

class GatewayEvents {
public:
    enum class Source : std::uint8_t {
        resolver,
        sockets, // the errand that makes them
        look_up,
        listener,
        inside, // of a crossing
        outside,
    };

    struct Event {
        Source source = Source::resolver;
        std::uint64_t serial = 0; // of the owner, as given to watch()
    };

    static constexpr std::size_t most_taken = 32;

    // Errors: no more descriptors.
    Result<void> open();

    // Readable when take() returns something.
    int fd() const { return epoll_.get(); }

    bool watch(int fd, Source source, std::uint64_t serial, std::uint32_t events);

    // Watches for the events `to` from now on, and keeps them in `from`, which has those before.
    // Without any the descriptor is not watched at all: a hang-up would be reported for ever.
    void change(int fd, const Event& owner, std::uint32_t& from, std::uint32_t to);

    // Before the descriptor is closed: see EventQueue::remove().
    void unwatch(int fd);

    // Does not wait. What was taken and not handled is taken again. The span is valid until the
    // next call.
    std::span<const Event> take();

private:
    UniqueFd epoll_;
    std::array<Event, most_taken> taken_ = {};
};

} // namespace ew::sandbox
