#include "sandbox/gateway/gateway_events.h"

#include "os/io.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace ew::sandbox {

namespace {

constexpr unsigned source_bits = 3;

epoll_event event_of(const GatewayEvents::Event& owner, std::uint32_t events) {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = owner.serial << source_bits | static_cast<std::uint64_t>(owner.source);
    return event;
}

} // namespace

Result<void> GatewayEvents::open() {
    epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_) return os::system_error("epoll_create1", errno);
    return {};
}

bool GatewayEvents::watch(int fd, Source source, std::uint64_t serial, std::uint32_t events) {
    epoll_event event = event_of({source, serial}, events);
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void GatewayEvents::change(int fd, const Event& owner, std::uint32_t& from, std::uint32_t to) {
    if (from == to) return;
    epoll_event event = event_of(owner, to);
    const int operation = to == 0 ? EPOLL_CTL_DEL : from == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (::epoll_ctl(epoll_.get(), operation, fd, &event) == 0) from = to;
}

void GatewayEvents::unwatch(int fd) {
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

std::span<const GatewayEvents::Event> GatewayEvents::take() {
    std::array<epoll_event, most_taken> events;
    const int count = ::epoll_wait(epoll_.get(), events.data(), most_taken, 0);
    const auto taken = static_cast<std::size_t>(std::max(count, 0));
    for (std::size_t i = 0; i < taken; ++i) {
        const std::uint64_t token = events[i].data.u64;
        taken_[i] = {static_cast<Source>(token & ((1U << source_bits) - 1)), token >> source_bits};
    }
    return {taken_.data(), taken};
}

} // namespace ew::sandbox
