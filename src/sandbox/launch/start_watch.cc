#include "sandbox/launch/start_watch.h"

#include "os/io.h"
#include "os/pidfd.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace ew::sandbox {

namespace {

itimerspec once_after(Millis time) {
    constexpr Millis second{1'000};
    itimerspec spec = {};
    spec.it_value.tv_sec = time / second;
    spec.it_value.tv_nsec = std::chrono::nanoseconds(time % second).count();
    return spec;
}

} // namespace

Result<void> StartWatch::open(int reports, Millis longest) {
    events_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    if (!events_) return os::system_error("epoll_create1", errno);
    timer_ = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
    if (!timer_) return os::system_error("timerfd_create", errno);
    const itimerspec end = once_after(longest);
    if (::timerfd_settime(timer_.get(), 0, &end, nullptr) != 0)
        return os::system_error("timerfd_settime", errno);
    for (const int fd : {reports, timer_.get()})
        if (!watch(fd)) return os::system_error("epoll_ctl", errno);
    return {};
}

void StartWatch::add(pid_t process) {
    process_ = os::open_pidfd(process);
    if (process_) (void)watch(process_.get()); // if this fails, the deadline remains
}

StartWatch::News StartWatch::take() {
    News news;
    std::array<epoll_event, 3> events = {};
    const int count = ::epoll_wait(events_.get(), events.data(), events.size(), 0);
    for (int i = 0; i < count; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == timer_.get()) news.is_late = true;
        if (!process_ || fd != process_.get()) continue;
        news.has_ended = true;
        (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, fd, nullptr); // it would be ready for ever
        process_.reset();
    }
    return news;
}

void StartWatch::kill() const {
    if (process_) os::signal_by_pidfd(process_.get(), SIGKILL);
}

bool StartWatch::watch(int fd) const {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

} // namespace ew::sandbox
