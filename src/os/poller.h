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

// What a descriptor is watched under, and what the poller hands back when it is ready.
struct Token {
    std::uint8_t source = 0; // what kind of descriptor it is; the owner of the loop enumerates them
    std::uint64_t serial = 0; // whose it is; never used twice, so a stale token finds nothing
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
