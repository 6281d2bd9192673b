#include "sandbox/launch/host_network.h"

#include "os/io.h"
#include "sandbox/launch/namespaces.h"
#include "sandbox/launch/report.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace ew::sandbox {

namespace {

using wire::Step;

constexpr int loopback = 1; // the index of the device in every network (LOOPBACK_IFINDEX)
constexpr std::uint16_t dns_port = 53;
constexpr in_addr_t local_host = 0x7f000001; // 127.0.0.1
constexpr in_addr_t of_names = 0xc6120001;   // 198.18.0.1, see core/network/name_table.h
constexpr unsigned char prefix_of_names = 15;

[[noreturn]] void fail(const char* what) {
    fail_start(Step::namespaces, errno, what);
}

// A request of rtnetlink(7) with at most one attribute of 4 bytes more than its head.
template <class Head>
struct Request {
    nlmsghdr header = {};
    Head head = {};
    std::array<char, 64> attributes = {};

    explicit Request(std::uint16_t type) {
        header.nlmsg_len = NLMSG_LENGTH(sizeof head);
        header.nlmsg_type = type;
        header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    }

    void add(std::uint16_t type, const void* value, std::size_t size) {
        rtattr attribute = {};
        attribute.rta_type = type;
        attribute.rta_len = static_cast<std::uint16_t>(RTA_LENGTH(size));
        char* const to = attributes.data() + (header.nlmsg_len - NLMSG_LENGTH(sizeof head));
        std::memcpy(to, &attribute, sizeof attribute);
        std::memcpy(to + RTA_LENGTH(0), value, size);
        header.nlmsg_len += static_cast<std::uint32_t>(RTA_ALIGN(RTA_LENGTH(size)));
    }
};

template <class Head>
void ask(int netlink, const Request<Head>& request, const char* what) {
    if (::send(netlink, &request, request.header.nlmsg_len, 0) < 0) fail(what);

    struct {
        nlmsghdr header;
        nlmsgerr error;
        std::array<char, 256> rest;
    } answer = {};

    const ssize_t size = ::recv(netlink, &answer, sizeof answer, 0);
    if (size < static_cast<ssize_t>(sizeof answer.header + sizeof(int))) fail(what);
    errno = -answer.error.error;
    if (answer.header.nlmsg_type != NLMSG_ERROR || answer.error.error != 0) fail(what);
}

void add_address(int netlink, in_addr_t address, unsigned char prefix) {
    Request<ifaddrmsg> request(RTM_NEWADDR);
    request.head.ifa_family = AF_INET;
    request.head.ifa_prefixlen = prefix;
    request.head.ifa_scope = RT_SCOPE_HOST;
    request.head.ifa_index = loopback;
    const in_addr_t value = htonl(address);
    request.add(IFA_LOCAL, &value, sizeof value);
    request.add(IFA_ADDRESS, &value, sizeof value);
    ask(netlink, request, "the loopback's addresses");
}

void make_everything_local(int netlink, unsigned char family) {
    Request<rtmsg> request(RTM_NEWROUTE);
    request.head.rtm_family = family;
    request.head.rtm_table = RT_TABLE_LOCAL;
    request.head.rtm_protocol = RTPROT_BOOT;
    request.head.rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
    request.head.rtm_type = RTN_LOCAL;
    request.add(RTA_OIF, &loopback, sizeof loopback);
    ask(netlink, request, "the routes of the sandbox");
}

void bring_up(int socket) {
    ifreq request = {};
    std::memcpy(request.ifr_name, "lo", sizeof "lo");
    if (::ioctl(socket, SIOCGIFFLAGS, &request) != 0) fail("the loopback");
    request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
    if (::ioctl(socket, SIOCSIFFLAGS, &request) != 0) fail("the loopback");
}

UniqueFd bound_datagrams() {
    UniqueFd made(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(dns_port);
    address.sin_addr.s_addr = htonl(local_host);
    const void* const bytes = &address;
    if (!made || ::bind(made.get(), static_cast<const sockaddr*>(bytes), sizeof address) != 0)
        fail("the resolver's port");
    return made;
}

void set(const char* name, const char* value) {
    const std::string path = std::string(host_path) + "/proc/sys/net/ipv4/" + name;
    const UniqueFd setting(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (setting) (void)os::write_all(setting.get(), value); // it is missed, and nothing opens
}

// All ports of this network belong to the command (ip(7)). With TCP Fast Open, a program would
// connect by sending (tcp(7)), which nobody decides about. A connect about which a person is asked
// waits for hours, and finds out within a second during the first minute that it is refused
// (tcp(7); for IPv6, too).
void set_up_ports() {
    set("ip_unprivileged_port_start", "0");
    set("tcp_fastopen", "0");
    set("tcp_syn_retries", "127");
    set("tcp_syn_linear_timeouts", "64");
}

void tell(wire::NetworkPart part, const UniqueFd& descriptor) {
    wire::Record record;
    record.kind = wire::RecordKind::network;
    record.step = static_cast<std::uint32_t>(part);
    send(record, "", descriptor.get());
}

} // namespace

void HostNetwork::take(wire::NetworkPart which, UniqueFd descriptor) {
    switch (which) {
    case wire::NetworkPart::datagrams: datagrams = std::move(descriptor); return;
    case wire::NetworkPart::network: network = std::move(descriptor); return;
    }
}

void make_host_network() {
    if (::unshare(CLONE_NEWNET) != 0) fail("a network of its own");
    const UniqueFd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (!netlink) fail("the routes of the sandbox");
    const UniqueFd datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!datagrams) fail("the loopback");
    bring_up(datagrams.get());
    add_address(netlink.get(), of_names, prefix_of_names);
    make_everything_local(netlink.get(), AF_INET);
    make_everything_local(netlink.get(), AF_INET6);
    set_up_ports();
    const std::string path = std::string(host_path) + "/proc/self/ns/net";
    tell(wire::NetworkPart::datagrams, bound_datagrams());
    const UniqueFd network(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!network) fail("the network's descriptor");
    tell(wire::NetworkPart::network, network);
}

} // namespace ew::sandbox
