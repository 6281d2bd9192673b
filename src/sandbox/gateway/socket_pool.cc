#include "sandbox/gateway/socket_pool.h"

#include "sandbox/launch/namespaces.h"

#include <sys/socket.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr Millis longest{5000}; // for an errand; it takes a few milliseconds
constexpr Millis pause_after_failure{1000};
constexpr std::size_t families = 2;

// One message with one byte and space for all sockets of an errand (SCM_MAX_FD is 253).
struct HandOver {
    std::array<int, families* SocketPool::most> fds = {};
    char byte = 0;
    iovec part = {&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fds)> control = {};
    msghdr message = {};

    HandOver() {
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
    }

    ~HandOver() = default;
    HandOver(const HandOver&) = delete;
    HandOver& operator=(const HandOver&) = delete;
};

// In the errand. The IPv4 sockets come first.
std::string make_sockets(int network, int to) {
    if (!enter_network(network)) return "no";
    HandOver over;
    for (std::size_t i = 0; i < over.fds.size(); ++i) {
        const int family = i < SocketPool::most ? AF_INET : AF_INET6;
        over.fds[i] = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (over.fds[i] < 0) return "no";
    }
    cmsghdr* const head = CMSG_FIRSTHDR(&over.message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof over.fds);
    std::memcpy(CMSG_DATA(head), over.fds.data(), sizeof over.fds);
    return ::sendmsg(to, &over.message, MSG_NOSIGNAL) == 1 ? "yes" : "no";
}

} // namespace

UniqueFd SocketPool::take(int family) {
    std::vector<UniqueFd>& sockets = family == AF_INET ? ipv4_ : ipv6_;
    if (sockets.empty()) return {};
    UniqueFd socket = std::move(sockets.back());
    sockets.pop_back();
    return socket;
}

bool SocketPool::fill(TimePoint now) {
    if (errand_ || (ipv4_.size() > few && ipv6_.size() > few)) return false;
    if (paused_until_ && now < *paused_until_) return false;
    std::array<int, 2> ends = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
    ours_ = UniqueFd(ends[0]);
    const UniqueFd theirs(ends[1]);
    const std::array<int, 2> kept = {network_.get(), theirs.get()};
    Result<os::Errand> errand =
        os::Errand::begin([kept] { return make_sockets(kept[0], kept[1]); }, kept, now + longest);
    if (!errand) return false;
    errand_ = std::move(*errand);
    return true;
}

bool SocketPool::on_errand(TimePoint now) {
    const std::optional<std::string> result = errand_->take_result();
    if (!result && now < errand_->deadline()) return false;
    if (result == "yes") keep();
    paused_until_.reset();
    if (ipv4_.empty() || ipv6_.empty()) paused_until_ = now + pause_after_failure;
    errand_.reset();
    ours_.reset();
    return true;
}

// If this process has not enough descriptors left, those that arrived are kept.
void SocketPool::keep() {
    HandOver over;
    if (::recvmsg(ours_.get(), &over.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) return;
    const cmsghdr* const head = CMSG_FIRSTHDR(&over.message);
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) return;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::memcpy(over.fds.data(), CMSG_DATA(head), count * sizeof(int));
    for (std::size_t i = 0; i < count; ++i) {
        int family = 0;
        socklen_t size = sizeof family;
        UniqueFd socket(over.fds[i]);
        (void)::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &family, &size);
        std::vector<UniqueFd>& sockets = family == AF_INET ? ipv4_ : ipv6_;
        if (sockets.size() < most) sockets.push_back(std::move(socket));
    }
}

} // namespace ew::sandbox
