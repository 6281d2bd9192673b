#include "sandbox/gateway/socket_pool.h"

#include "os/passed_descriptors.h"
#include "sandbox/launch/namespaces.h"

#include <sys/socket.h>

#include <array>
#include <string>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr Millis longest{5000}; // for an errand; it takes a few milliseconds
constexpr Millis pause_after_failure{1000};
constexpr std::size_t families = 2;

// In the errand. The IPv4 sockets come first.
std::string make_sockets(int network, int to) {
    if (!enter_network(network)) return "no";
    std::array<int, families* SocketPool::most> sockets = {};
    for (std::size_t i = 0; i < sockets.size(); ++i) {
        const int family = i < SocketPool::most ? AF_INET : AF_INET6;
        sockets[i] = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (sockets[i] < 0) return "no";
    }
    return os::send_descriptors(to, sockets) ? "yes" : "no";
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

void SocketPool::keep() {
    for (UniqueFd& socket : os::receive_descriptors(ours_.get())) {
        int family = 0;
        socklen_t size = sizeof family;
        (void)::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &family, &size);
        std::vector<UniqueFd>& sockets = family == AF_INET ? ipv4_ : ipv6_;
        if (sockets.size() < most) sockets.push_back(std::move(socket));
    }
}

} // namespace ew::sandbox
