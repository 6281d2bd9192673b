#include "base/unique_fd.h"
#include "os/listeners.h"
#include "support/testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace ew;

namespace {

constexpr const char* columns =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";
constexpr const char* first =
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 "
    "4711 1 0000000000000000 100 0 0 10 0\n";
constexpr const char* second =
    "   1: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A "
    "00000000:00000000 00:00000000 00000000     0        0 815 1 0000000000000000 100 0 0 10 0\n";
constexpr const char* connection =
    "   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 "
    "4712 1 0000000000000000 20 4 30 10 -1\n";

UniqueFd listening_socket(std::uint16_t& port) {
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener.get(), 1) == 0);
    REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port = ntohs(address.sin_port);
    return listener;
}

} // namespace

TEST_CASE("listeners are read up to the first connection, and up to a line that is cut") {
    const std::string whole = std::string(columns) + first + second + connection + first;
    const std::vector<os::Listener> both = {{4711, 8080}, {815, 22}};
    CHECK(os::listeners_in(whole) == both);
    for (std::size_t size = 0; size <= whole.size(); ++size) {
        const std::vector<os::Listener> some =
            os::listeners_in(std::string_view(whole).substr(0, size));
        REQUIRE(some.size() <= 2);
        CHECK(std::equal(some.begin(), some.end(), both.begin()));
    }
    CHECK(os::listeners_in("nonsense\nmore\n\n: : :\n").empty());
}

TEST_CASE("the ports of a process are those of its own listeners") {
    std::uint16_t port = 0;
    const UniqueFd listener = listening_socket(port);
    const auto has_port = [&](pid_t process) {
        const std::vector<std::uint16_t> ports = os::listening_ports({process});
        return std::ranges::find(ports, port) != ports.end();
    };
    CHECK(has_port(::getpid()));
    CHECK_FALSE(has_port(::getppid()));
    CHECK_FALSE(has_port(0));
}
