#include "os/poller.h"

#include "base/check.h"

#include <algorithm>
#include <cerrno>
#include <climits>

namespace ew::os {

namespace {

constexpr unsigned source_shift = 56;

epoll_event as_event(Token token, Interest interest) {
    epoll_event event = {};
    event.events = static_cast<std::uint32_t>(interest);
    event.data.u64 = static_cast<std::uint64_t>(token.source) << source_shift | token.serial;
    return event;
}

Token as_token(std::uint64_t data) {
    return {static_cast<std::uint8_t>(data >> source_shift), data & ((1ULL << source_shift) - 1)};
}

} // namespace

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    CHECK(epoll_.get() >= 0);
}

bool Poller::watch(int fd, Token token, Interest interest) {
    epoll_event event = as_event(token, interest);
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Poller::change(int fd, Token token, Interest interest) {
    epoll_event event = as_event(token, interest);
    CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void Poller::unwatch(int fd) {
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); // may be unwatched already
}

std::span<const Token> Poller::wait(std::optional<TimePoint> deadline, TimePoint now) {
    if (!deadline) return wait_for(-1);
    if (*deadline <= now) return wait_for(0);
    // Rounded up, because a wake-up before the deadline would only start another wait.
    const auto rest = std::chrono::ceil<Millis>(*deadline - now).count();
    return wait_for(static_cast<int>(std::min<std::int64_t>(rest, INT_MAX)));
}

std::span<const Token> Poller::ready_now() {
    return wait_for(0);
}

std::span<const Token> Poller::wait_for(int milliseconds) {
    std::array<epoll_event, 128> events;
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), milliseconds);
    if (count < 0) {
        CHECK(errno == EINTR);
        return {};
    }
    const auto ready = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < ready; ++i)
        tokens_[i] = as_token(events[i].data.u64);
    return {tokens_.data(), ready};
}

} // namespace ew::os
