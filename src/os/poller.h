// A wrapper of epoll: waits for descriptors and returns their tokens. It has no callbacks.
#pragma once

#include "base/clock.h"
#include "base/unique_fd.h"

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace ew::os {

// The key of a watched descriptor. The poller returns it when the descriptor is ready.
struct Token {
    std::uint8_t source = 0;  // the kind of descriptor; the owner of the loop defines the values
    std::uint64_t serial = 0; // the owner's serial; never reused, so a stale token finds no owner
};

// read_once: reported once, hang-ups included, and again after change(). Such a descriptor needs no
// unwatch() before it is closed: if another process still has a copy of it, the copy reports at
// most once.
enum class Interest : std::uint32_t {
    none = 0,
    read = EPOLLIN,
    write = EPOLLOUT,
    read_once = EPOLLIN | EPOLLONESHOT
};

class Poller {
public:
    Poller();

    int fd() const { return epoll_.get(); }

    // Returns false if epoll does not support this kind of descriptor (a regular file is always
    // ready, epoll(7)).
    bool watch(int fd, Token token, Interest interest);
    void change(int fd, Token token, Interest interest);
    void unwatch(int fd);

    // wait() returns the ready tokens, and waits for one if there is none. ready_now() does not
    // wait. The span is valid until the next call.
    std::span<const Token> wait(std::optional<TimePoint> deadline, TimePoint now);
    std::span<const Token> ready_now();

private:
    std::span<const Token> wait_for(int milliseconds);

    UniqueFd epoll_;
    std::array<Token, 128> tokens_;
};

} // namespace ew::os
