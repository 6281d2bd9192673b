#include "sandbox/supervise/notifications.h"

#include "os/io.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ew::sandbox {

Result<void> Notifications::open(UniqueFd listener) {
    seccomp_notif_sizes sizes = {};
    if (::syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0U, &sizes) != 0)
        return os::system_error("seccomp: sizes of notifications", errno);
    const std::size_t notice = std::max<std::size_t>(sizes.seccomp_notif, sizeof(seccomp_notif));
    const std::size_t reply =
        std::max<std::size_t>(sizes.seccomp_notif_resp, sizeof(seccomp_notif_resp));
    buffer_.resize(std::max(notice, reply));
    listener_ = std::move(listener);
    return {};
}

// Once poll(2) has reported a call, receiving it does not wait, even if its caller has been killed
// since: that gives ENOENT, and the next call is tried.
std::optional<seccomp_notif> Notifications::take() {
    constexpr int most_tries = 16;
    for (int tries = 0; tries < most_tries; ++tries) {
        pollfd waiting = {listener_.get(), POLLIN, 0};
        if (::poll(&waiting, 1, 0) != 1 || (waiting.revents & POLLIN) == 0) return std::nullopt;
        std::fill(buffer_.begin(), buffer_.end(), '\0'); // otherwise the call fails with EINVAL
        if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, buffer_.data()) == 0) {
            seccomp_notif notice = {};
            std::memcpy(&notice, buffer_.data(), sizeof notice);
            return notice;
        }
        if (errno != ENOENT && errno != EINTR) return std::nullopt;
    }
    return std::nullopt;
}

bool Notifications::is_waiting(std::uint64_t id) const {
    return sandbox::is_waiting(listener_.get(), id);
}

void Notifications::send(std::uint64_t id, int error, std::uint32_t flags) {
    seccomp_notif_resp reply = {};
    reply.id = id;
    reply.error = -error;
    reply.flags = flags;
    std::fill(buffer_.begin(), buffer_.end(), '\0');
    std::memcpy(buffer_.data(), &reply, sizeof reply);
    (void)::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, buffer_.data()); // it may be gone
}

bool is_waiting(int listener, std::uint64_t id) {
    return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

} // namespace ew::sandbox
