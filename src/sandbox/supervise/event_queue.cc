#include "sandbox/supervise/event_queue.h"

#include "os/io.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace ew::sandbox {

namespace {

constexpr unsigned source_bits = 3;

} // namespace

Result<void> EventQueue::open() {
    epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_) return os::system_error("epoll_create1", errno);
    return {};
}

bool EventQueue::add(int fd, Source source, std::uint64_t serial, std::uint32_t events) {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = serial << source_bits | static_cast<std::uint64_t>(source);
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void EventQueue::remove(int fd) {
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

std::span<const EventQueue::Event> EventQueue::take() {
    std::array<epoll_event, most_taken> events;
    const int count = ::epoll_wait(epoll_.get(), events.data(), most_taken, 0);
    const auto taken = static_cast<std::size_t>(std::max(count, 0));
    for (std::size_t i = 0; i < taken; ++i) {
        const std::uint64_t token = events[i].data.u64;
        taken_[i] = {static_cast<Source>(token & ((1U << source_bits) - 1)), token >> source_bits,
                     events[i].events};
    }
    return {taken_.data(), taken};
}

} // namespace ew::sandbox
