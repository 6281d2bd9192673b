#include "sandbox/gateway/crossing.h"

#include "core/network/client_hello.h"
#include "sandbox/gateway/tcp.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace ew::sandbox {

using State = Crossing::State;

// The name of the server is compared only where the program named a name.
Crossing::Crossing(UniqueFd inside, core::Destination there)
    : inside_(std::move(inside)), there_(std::move(there)) {
    turn_on(inside_.get(), IPPROTO_TCP, TCP_NODELAY);
    if (!there_.address) greeting_.emplace();
}

std::uint32_t Crossing::wanted_inside() const {
    if (state_ != State::open) return 0;
    std::uint32_t wanted = 0;
    if (!up_.has_ended() && up_.is_empty()) wanted |= EPOLLIN;
    if (down_.has_to_write()) wanted |= EPOLLOUT;
    return wanted;
}

std::uint32_t Crossing::wanted_outside() const {
    if (state_ == State::connecting) return EPOLLOUT;
    if (state_ == State::asking) return talk_->has_to_write() ? EPOLLOUT | EPOLLIN : EPOLLIN;
    if (state_ != State::open) return 0;
    std::uint32_t wanted = 0;
    if (!down_.has_ended() && down_.is_empty()) wanted |= EPOLLIN;
    if (up_.has_to_write()) wanted |= EPOLLOUT;
    return wanted;
}

void Crossing::connect(std::vector<core::Internet> addresses, TimePoint now) {
    addresses_ = std::move(addresses);
    try_next(now);
}

void Crossing::connect_through(const core::Proxy& proxy, std::vector<core::Internet> addresses,
                               TimePoint now) {
    talk_.emplace(proxy, there_, now);
    connect(std::move(addresses), now);
}

void Crossing::try_next(TimePoint now) {
    const std::uint16_t port = talk_ ? talk_->port() : there_.port;
    while (next_address_ < addresses_.size()) {
        const core::Internet& internet = addresses_[next_address_++];
        const int family = core::is_ipv4(internet) ? AF_INET : AF_INET6;
        outside_ = UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!outside_) continue;
        turn_on(outside_.get(), IPPROTO_TCP, TCP_NODELAY);
        turn_on(outside_.get(), SOL_SOCKET, SO_KEEPALIVE);
        const RawAddress address = raw_address(internet, port);
        int result = ::connect(outside_.get(), address.get(), address.size);
        // A server on this machine has answered by now.
        if (result != 0 && errno == EINPROGRESS)
            result = ::connect(outside_.get(), address.get(), address.size);
        if (result == 0) return begin();
        if (errno != EALREADY && errno != EINPROGRESS) continue;
        state_ = State::connecting;
        deadline_ = now + longest_connect;
        if (talk_) deadline_ = std::min(*deadline_, talk_->deadline());
        return;
    }
    abort(talk_ ? talk_->unreachable() : std::string());
}

void Crossing::on_connected(TimePoint now) {
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(outside_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) return try_next(now);
    sockaddr_storage peer = {};
    void* const bytes = &peer;
    size = sizeof peer;
    if (::getpeername(outside_.get(), static_cast<sockaddr*>(bytes), &size) != 0)
        return; // the event was of the address before
    begin();
}

void Crossing::begin() {
    if (!talk_) return open();
    state_ = State::asking;
    deadline_ = talk_->deadline();
}

void Crossing::ask_proxy(std::span<char> block) {
    switch (talk_->go_on(outside_.get(), block)) {
    case ProxyTalk::State::goes_on: return;
    case ProxyTalk::State::refused: return abort(talk_->refusal());
    case ProxyTalk::State::open: break;
    }
    down_.take_over(talk_->take_rest());
    talk_.reset();
    open();
}

void Crossing::open() {
    state_ = State::open;
    has_reached_ = true;
    deadline_.reset();
}

void Crossing::on_ready(Side side, Carrier& carrier, TimePoint now) {
    const bool is_fresh = state_ != State::open;
    if (state_ == State::connecting) on_connected(now);
    if (state_ == State::asking) ask_proxy(carrier.block());
    if (state_ != State::open) return;
    const bool goes_up = is_fresh || side == Side::inside || up_.has_to_write();
    const bool goes_down = is_fresh || side == Side::outside || down_.has_to_write();
    const bool is_whole = (!goes_up || move(up_, inside_.get(), outside_.get(), carrier)) &&
                          (!goes_down || move(down_, outside_.get(), inside_.get(), carrier));
    if (state_ != State::open) return; // its greeting was refused
    if (!is_whole)
        abort({});
    else if (up_.is_done() && down_.is_done())
        close();
    else if (up_.is_done())
        deadline_ = now + longest_silence;
}

void Crossing::on_time(TimePoint now) {
    if (!is_due(deadline_, now)) return;
    const bool is_late = talk_ && talk_->deadline() <= now;
    if (is_late) return abort(talk_->too_late());
    if (state_ == State::connecting) try_next(now);
    if (state_ == State::open) abort({});
}

// Returns false if the connection is broken.
bool Crossing::move(Flow& flow, int source, int target, Carrier& carrier) {
    for (int i = 0; i < most_blocks; ++i) {
        Flow::Moved moved = flow.flush(target, carrier);
        if (moved == Flow::Moved::something && !flow.has_ended())
            moved = take(flow, source, target, carrier);
        if (state_ != State::open) return true;
        if (moved == Flow::Moved::broken) return false;
        if (moved == Flow::Moved::nothing) return true;
    }
    return true;
}

Flow::Moved Crossing::take(Flow& flow, int source, int target, Carrier& carrier) {
    if (&flow == &up_ && greeting_) return greet(carrier.block());
    return flow.take(source, target, carrier);
}

Flow::Moved Crossing::greet(std::span<char> block) {
    std::string_view bytes;
    const Flow::Moved moved = up_.read(inside_.get(), block, bytes);
    if (moved != Flow::Moved::something) return moved;
    *greeting_ += bytes;
    check_greeting(bytes.empty());
    return moved;
}

// Nothing of a greeting is passed on before it is known to be no TLS, or TLS for that name.
void Crossing::check_greeting(bool has_ended) {
    const core::ClientHello hello = core::read_client_hello(*greeting_);
    switch (hello.state) {
    case core::ClientHello::State::incomplete:
        if (!has_ended) return;
        if (!greeting_->empty()) return abort("it ends within the greeting of TLS");
        break;
    case core::ClientHello::State::broken: return abort("its greeting of TLS cannot be read");
    case core::ClientHello::State::other: break;
    case core::ClientHello::State::whole:
        if (hello.server_name.empty()) break;
        if (core::host_name(hello.server_name) != there_.host)
            return abort(fmt::format("its greeting of TLS names another server, {}",
                                     core::host_name(hello.server_name).value_or("no host")));
        break;
    }
    up_.hold(std::move(*greeting_));
    greeting_.reset();
}

void Crossing::abort(std::string refusal) {
    refusal_ = std::move(refusal);
    for (const UniqueFd* const socket : {&inside_, &outside_})
        if (*socket) reset_on_close(socket->get());
    state_ = State::closed;
}

void Crossing::close() {
    state_ = State::closed;
}

void Crossing::finish(Carrier& carrier, TimePoint until) {
    while (state_ == State::open && !up_.is_done() && clock_now() < until) {
        const std::uint64_t before = up_.count();
        if (!move(up_, inside_.get(), outside_.get(), carrier)) return abort({});
        if (up_.count() == before) return;
    }
}

} // namespace ew::sandbox
