#include "sandbox/supervise/port_listeners.h"

#include "os/passed_descriptors.h"
#include "sandbox/launch/namespaces.h"
#include "sandbox/supervise/notifications.h"
#include "sandbox/supervise/socket_owners.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace ew::sandbox {

namespace {

using Internet = std::array<std::uint8_t, 16>;

constexpr Internet loopback_ipv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
constexpr Internet loopback_ipv6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr std::uint32_t loopback_device = 1; // its index in every network (LOOPBACK_IFINDEX)
constexpr std::size_t longest_answer = 8 << 10;

struct PortQuery {
    nlmsghdr header = {};
    inet_diag_req_v2 request = {};
};

bool is_mapped(const Internet& address) {
    return std::equal(loopback_ipv4.begin(), loopback_ipv4.begin() + 12, address.begin());
}

PortQuery new_query(std::uint16_t flags, std::uint8_t family, bool udp) {
    PortQuery query;
    query.header.nlmsg_len = sizeof query;
    query.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    query.header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    query.request.sdiag_family = family;
    query.request.sdiag_protocol = udp ? IPPROTO_UDP : IPPROTO_TCP;
    return query;
}

// Which of the two ends is the local one differs between UDP and TCP and between kernel versions,
// so both are the address.
PortQuery about(const Internet& address, std::uint16_t port, bool udp) {
    const bool is_ipv4 = is_mapped(address);
    PortQuery query = new_query(0, is_ipv4 ? AF_INET : AF_INET6, udp);
    inet_diag_sockid& id = query.request.id;
    const std::size_t from = is_ipv4 ? 12 : 0;
    std::memcpy(id.idiag_src, address.data() + from, address.size() - from);
    std::memcpy(id.idiag_dst, address.data() + from, address.size() - from);
    id.idiag_sport = htons(port);
    id.idiag_dport = htons(port);
    id.idiag_if = loopback_device;
    id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    query.request.idiag_states = ~0U;
    return query;
}

// The first message of an answer.
struct Answer {
    std::uint16_t type = 0;
    int error = 0; // of NLMSG_ERROR, NLMSG_DONE
    int state = 0; // of a socket
};

// The kernel answers as soon as it has the query. Returns nullopt if there is no answer.
std::optional<Answer> ask(int netlink, const PortQuery& query) {
    if (::send(netlink, &query, sizeof query, MSG_DONTWAIT) != static_cast<ssize_t>(sizeof query))
        return std::nullopt;
    std::array<char, longest_answer> block;
    const ssize_t count = ::recv(netlink, block.data(), block.size(), MSG_DONTWAIT);
    nlmsghdr header = {};
    if (count < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof(int))) return std::nullopt;
    std::memcpy(&header, block.data(), sizeof header);
    Answer answer;
    answer.type = header.nlmsg_type;
    const char* const body = block.data() + NLMSG_HDRLEN;
    if (answer.type == NLMSG_ERROR || answer.type == NLMSG_DONE) {
        std::memcpy(&answer.error, body, sizeof answer.error); // both begin with it
        return answer;
    }
    inet_diag_msg socket = {};
    if (count < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof socket)) return std::nullopt;
    std::memcpy(&socket, body, sizeof socket);
    answer.state = socket.idiag_state;
    return answer;
}

// A kernel without look-ups answers as if the socket did not exist. Only a list shows the
// difference: this one asks for the sockets in no state at all.
bool can_look_up(int netlink, bool udp) {
    const PortQuery query = new_query(NLM_F_DUMP, AF_INET, udp);
    const std::optional<Answer> answer = ask(netlink, query);
    return answer && answer->type == NLMSG_DONE && answer->error == 0;
}

std::optional<bool> is_served_at(int netlink, const PortQuery& query) {
    const std::optional<Answer> answer = ask(netlink, query);
    if (!answer || answer->type == NLMSG_DONE) return std::nullopt;
    if (answer->type == NLMSG_ERROR) return false; // ENOENT, or no such family
    const bool is_udp = query.request.sdiag_protocol == IPPROTO_UDP;
    return is_udp || answer->state == TCP_LISTEN;
}

// "localhost" has both addresses, and programs try one after the other.
std::optional<bool> is_port_served(int netlink, const SocketAddress& address, bool udp) {
    std::array<Internet, 3> places = {loopback_ipv4, loopback_ipv6, loopback_ipv4};
    std::size_t count = 2;
    if (is_mapped(address.internet) && address.internet[12] == 127 &&
        address.internet != loopback_ipv4)
        places[count++] = address.internet;
    for (std::size_t i = 0; i < count; ++i) {
        const std::optional<bool> is_there =
            is_served_at(netlink, about(places[i], address.port, udp));
        if (!is_there || *is_there) return is_there;
    }
    return false;
}

Served read_tables(const PortOrder& order) {
    Served served;
    const pid_t inside = order.caller.thread;
    served.inside = is_served(inside, order.address, false) ||
                    (order.is_udp && is_served(inside, order.address, true));
    if (!served.inside) served.outside = is_served(order.server, order.address, order.is_udp);
    return served;
}

// The look-ups are for all later callers, so they must be of this sandbox for sure.
PortLookUps new_look_ups(const PortOrder& order) {
    const std::string path = fmt::format("/proc/{}/ns/net", order.caller.thread);
    const UniqueFd network(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!network || !is_waiting(order.listener, order.id)) return {};
    PortLookUps ports;
    ports.outside = new_look_up();
    if (ports.outside && enter_network(network.get())) ports.inside = new_look_up();
    return ports;
}

void hand_over(int socket, const PortLookUps& ports) {
    const std::array<int, 2> both = {ports.inside.get(), ports.outside.get()};
    (void)os::send_descriptors(socket, both); // if this fails, the next errand does it
}

} // namespace

UniqueFd new_look_up() {
    UniqueFd netlink(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!netlink || !can_look_up(netlink.get(), false) || !can_look_up(netlink.get(), true))
        return {};
    return netlink;
}

std::optional<Served> look_up(const PortLookUps& ports, const SocketAddress& address, bool udp) {
    std::optional<bool> inside = is_port_served(ports.inside.get(), address, false);
    if (udp && inside && !*inside) inside = is_port_served(ports.inside.get(), address, true);
    if (!inside) return std::nullopt;
    if (*inside) return Served{true, false};
    const std::optional<bool> outside = is_port_served(ports.outside.get(), address, udp);
    if (!outside) return std::nullopt;
    return Served{false, *outside};
}

Served find_listeners(const PortOrder& order) {
    const PortLookUps ports = new_look_ups(order);
    const std::optional<Served> served =
        ports ? look_up(ports, order.address, order.is_udp) : std::nullopt;
    if (!served) return read_tables(order);
    hand_over(order.hand_over, ports);
    return *served;
}

PortLookUps take_look_ups(int socket) {
    std::vector<UniqueFd> received = os::receive_descriptors(socket);
    if (received.size() != 2) return {};
    PortLookUps ports;
    ports.inside = std::move(received[0]);
    ports.outside = std::move(received[1]);
    return ports;
}

std::string encode(Served served) {
    return fmt::format("{:d}{:d}", served.inside, served.outside);
}

Served decode_served(std::string_view text) {
    return {text == "10" || text == "11", text == "01"};
}

} // namespace ew::sandbox
