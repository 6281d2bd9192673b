#include "os/proc.h"
#include "sandbox/supervise/supervisor.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/sandbox/supervise/confined_child.h"

#include <sys/mman.h>

#include <atomic>
#include <string>
#include <thread>

namespace {

using namespace ew;
using namespace ew::test;
using sandbox::DenialKind;
using sandbox::SupervisorSettings;

// As if the sandbox had a network of its own, with unlimited time for look-ups.
SupervisorSettings own_network() {
    SupervisorSettings settings;
    settings.has_mounts = false;
    settings.patience = 10 * generous;
    return settings;
}

SupervisorSettings network_on() {
    SupervisorSettings settings = own_network();
    settings.is_network_off = false;
    settings.has_own_network = false;
    return settings;
}

// Changes the network of this process, and returns a socket of the one before.
UniqueFd socket_of_another_network(int family) {
    UniqueFd stranger = new_socket(family);
    return enter_own_network() ? std::move(stranger) : UniqueFd();
}

// Returns a gateway that allows 203.0.113.5:443 and whose errand for sockets does not go on.
std::unique_ptr<sandbox::Gateway> stuck_gateway() {
    core::HostRule rule = *core::allowed_host("203.0.113.5:443");
    for (;;) {
        sandbox::HostNetwork network;
        network.datagrams = new_socket(AF_INET, SOCK_DGRAM);
        network.network = UniqueFd(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
        auto gateway = sandbox::Gateway::start(std::move(network), {rule}, nullptr, clock_now());
        REQUIRE(gateway);
        for (const pid_t errand : os::children_of(::getpid()))
            ::kill(errand, SIGSTOP);
        pollfd watched = {(*gateway)->fd(), POLLIN, 0};
        if (::poll(&watched, 1, 100) == 0) return std::move(*gateway);
        // It had ended before it was stopped.
    }
}

} // namespace

TEST_CASE("with the network off, a refused address is unreachable, told and counted") {
    ConfinedChild child(own_network(), [] {
        std::string said;
        for (int i = 0; i < 2; ++i)
            said += in_words(try_address(ipv4("192.0.2.7", 443))) + " ";
        return said + in_words(try_address(ipv6("2001:db8::1", 53), SOCK_DGRAM));
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "ENETUNREACH ENETUNREACH ENETUNREACH");

    const auto& denials = child.supervisor().denials().kept();
    REQUIRE(denials.size() == 2);
    CHECK(denials[0].kind == DenialKind::network);
    CHECK(denials[0].operation == "connect");
    CHECK(denials[0].target == "192.0.2.7:443");
    CHECK(denials[0].count == 2);
    CHECK(denials[0].pid == child.pid());
    CHECK(denials[0].program == std::string(*os::real_path("/proc/self/exe")));
    CHECK(denials[0].rule == "network: restricted");
    CHECK(!denials[0].allow.empty());
    CHECK(denials[1].operation == "look up");
    CHECK(denials[1].target == "a name (name server [2001:db8::1]:53)");
}

TEST_CASE("a server inside is reached") {
    ConfinedChild child(
        own_network(),
        [] {
            const UniqueFd server = listen_at(ipv4("127.0.0.1", 0));
            return in_words(try_address(ipv4("127.0.0.1", port_of(server)))) + " " +
                   in_words(try_address(ipv4("0.0.0.0", port_of(server)))) + " " +
                   in_words(try_address(ipv6("::ffff:127.0.0.1", port_of(server)))) + " " +
                   in_words(try_address(ipv4("127.0.0.1", port_of(server)), SOCK_DGRAM));
        },
        enter_own_network);
    if (!child.is_running()) return;

    CHECK(child.result() == "connected connected connected connected");
    CHECK(child.supervisor().denials().total() == 0);
}

TEST_CASE("where nobody listens, a connection is refused and nobody is told") {
    ConfinedChild child(
        own_network(),
        [] {
            return in_words(try_address(ipv4("127.0.0.1", 9))) + " " +
                   in_words(try_address(ipv6("::1", 9)));
        },
        enter_own_network);
    if (!child.is_running()) return;

    CHECK(child.result().starts_with("ECONNREFUSED"));
    CHECK(child.supervisor().denials().total() == 0);
}

TEST_CASE("a server inside that comes up late is reached in the end") {
    ConfinedChild child(
        own_network(),
        [] {
            UniqueFd server = listen_at(ipv4("127.0.0.1", 0));
            const std::string address = ipv4("127.0.0.1", port_of(server));
            server.reset();
            std::atomic<bool> was_refused = false;
            std::thread late([&] {
                while (!was_refused)
                    std::this_thread::yield();
                server = listen_at(address);
            });
            int error = 0;
            while ((error = try_address(address)) == ECONNREFUSED)
                was_refused = true;
            late.join();
            return in_words(error) + (was_refused ? " after a while" : "");
        },
        enter_own_network);
    if (!child.is_running()) return;

    CHECK(child.result() == "connected after a while");
    CHECK(child.supervisor().denials().total() == 0);
}

TEST_CASE("one process finds out who can be asked for ports, and no further one is needed") {
    ConfinedChild child(
        own_network(),
        [] {
            int refused = 0;
            for (int i = 0; i < 20; ++i)
                refused += try_address(ipv4("127.0.0.1", 9)) == ECONNREFUSED ? 1 : 0;
            return std::to_string(refused);
        },
        enter_own_network);
    if (!child.is_running()) return;
    int begun = 0;
    std::size_t before = 0;
    pollfd end = {child.told(), POLLIN, 0};

    REQUIRE(child.drive([&] {
        const std::size_t running = child.supervisor().errands();
        if (running > before) ++begun;
        before = running;
        return ::poll(&end, 1, 0) == 1;
    }));

    CHECK(child.result() == "20");
    if (begun == 20)
        MESSAGE("this kernel has no inet_diag");
    else
        CHECK(begun == 1);
}

TEST_CASE("the machine's own service on loopback is refused by name") {
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0));
    const int port = port_of(server);
    ConfinedChild child(
        own_network(), [port] { return in_words(try_address(ipv4("127.0.0.1", port))); },
        enter_own_network);
    if (!child.is_running()) return;

    CHECK(child.result() == "ENETUNREACH");
    REQUIRE(child.supervisor().denials().kept().size() == 1);
    CHECK(child.supervisor().denials().kept()[0].target == "127.0.0.1:" + std::to_string(port));
    CHECK(!has_visitor(server));
}

TEST_CASE("a name server on loopback is refused by name, another port of UDP is not") {
    ConfinedChild child(
        own_network(),
        [] {
            return in_words(try_address(ipv4("127.0.0.53", 53), SOCK_DGRAM)) + " " +
                   in_words(try_address(ipv4("127.0.0.1", 9), SOCK_DGRAM));
        },
        enter_own_network);
    if (!child.is_running()) return;

    CHECK(child.result() == "ENETUNREACH connected");
    CHECK(child.supervisor().denials().total() == 1);
}

TEST_CASE("without a network of its own even loopback is the machine's") {
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0));
    const int port = port_of(server);
    SupervisorSettings settings = own_network();
    settings.has_own_network = false;
    ConfinedChild child(settings, [port] {
        return in_words(try_address(ipv4("127.0.0.1", port))) + " " +
               in_words(try_address(ipv4("127.0.0.1", 9)));
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "ENETUNREACH ENETUNREACH");
    CHECK(child.supervisor().denials().total() == 2);
    CHECK(!has_visitor(server));
}

TEST_CASE("with the network on, addresses are reached, by programs with threads too") {
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0));
    const int port = port_of(server);
    ConfinedChild child(network_on(), [port] {
        std::string said = in_words(try_address(ipv4("127.0.0.1", port))) + " ";
        std::thread([&said, port] {
            said += in_words(try_address(ipv4("127.0.0.1", port))) + " ";
            said += in_words(try_address(ipv4("127.0.0.1", port), SOCK_DGRAM)) + " ";
            const UniqueFd eager(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
            const int error = connect_to(eager.get(), ipv4("127.0.0.1", port));
            said += error == EINPROGRESS || error == 0 ? "begun" : in_words(error);
        }).join();
        return said;
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "connected connected connected begun");
    CHECK(child.supervisor().denials().total() == 0);
}

TEST_CASE("calls that make no sense get the kernel's answers") {
    ConfinedChild child(own_network(), [] {
        const UniqueFd tcp = new_socket(AF_INET);
        const UniqueFd local = new_socket(AF_UNIX);
        const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        const std::string good = ipv4("192.0.2.7", 443);
        const auto raw = [&](int fd, const void* address, long size) {
            return in_words(::syscall(SYS_connect, fd, address, size) == 0 ? 0 : errno) + " ";
        };
        std::string said =
            raw(999, good.data(), 16) + raw(-1, good.data(), 16) + raw(file.get(), good.data(), 16);
        said += raw(tcp.get(), good.data(), -1) + raw(tcp.get(), good.data(), 129) +
                raw(tcp.get(), good.data(), 1) + raw(tcp.get(), good.data(), 0) +
                raw(tcp.get(), good.data(), 8);
        said += raw(tcp.get(), nullptr, 16) + raw(tcp.get(), reinterpret_cast<void*>(-4096L), 16);
        said += raw(local.get(), good.data(), 16) + raw(local.get(), unix_address("").data(), 2) +
                raw(tcp.get(), unix_address("/x").data(), 4);
        return said;
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "EBADF EBADF ENOTSOCK EINVAL EINVAL EINVAL EINVAL EINVAL EFAULT EFAULT "
                            "EINVAL EINVAL EAFNOSUPPORT ");
    CHECK(child.supervisor().denials().total() == 0);
}

TEST_CASE("an address that ends where the caller's memory ends is read") {
    ConfinedChild child(own_network(), [] {
        const std::string address = ipv4("192.0.2.7", 443);
        char* const pages = static_cast<char*>(
            ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        ::munmap(pages + 4096, 4096);
        char* const place = pages + 4096 - address.size();
        std::memcpy(place, address.data(), address.size());
        const UniqueFd tcp = new_socket(AF_INET);
        const auto raw = [&](long size) {
            return in_words(::syscall(SYS_connect, tcp.get(), place, size) == 0 ? 0 : errno);
        };
        return raw(16) + " " + raw(17);
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "ENETUNREACH EFAULT");
}

TEST_CASE("an association is ended as ever") {
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0));
    ConfinedChild child(network_on(), [port = port_of(server)] {
        const UniqueFd udp = new_socket(AF_INET, SOCK_DGRAM);
        const sockaddr none = {};
        const std::string unspecified(reinterpret_cast<const char*>(&none), sizeof none);
        return in_words(connect_to(udp.get(), ipv4("127.0.0.1", port))) + " " +
               in_words(connect_to(udp.get(), unspecified)) + " " +
               in_words(connect_to(new_socket(AF_UNIX).get(), unspecified));
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "connected connected EINVAL");
}

TEST_CASE("abstract sockets of the machine are out of reach without a network of its own") {
    const std::string name =
        unix_address(std::string_view("\0execward-test-abstract", 23)) + std::to_string(::getpid());
    const UniqueFd server = listen_at(name);
    REQUIRE(server);
    ConfinedChild child(network_on(), [name] { return in_words(try_address(name)); });
    REQUIRE(child.is_running());

    CHECK(child.result() == "EACCES");
    CHECK(!has_visitor(server));
    REQUIRE(child.supervisor().denials().kept().size() == 1);
    CHECK(child.supervisor().denials().kept()[0].kind == DenialKind::socket);
    CHECK(child.supervisor().denials().kept()[0].target ==
          "@execward-test-abstract" + std::to_string(::getpid()));
}

TEST_CASE("on a shared network a program reaches the names on which its own sandbox listens") {
    ConfinedChild child(network_on(), [] {
        const std::string name =
            unix_address(std::string_view("\0execward-test-mine", 19)) + std::to_string(::getpid());
        UniqueFd own = listen_at(name);
        std::string said =
            in_words(try_address(name)) + " " + in_words(try_address(name, SOCK_SEQPACKET)) + " ";
        own.reset();
        return said + in_words(try_address(name));
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "connected ECONNREFUSED ECONNREFUSED");
    CHECK(child.supervisor().denials().total() == 0);
}

TEST_CASE("abstract sockets of a network of its own are reached, the machine's are not there") {
    const std::string machine =
        unix_address(std::string_view("\0execward-test-machine", 22)) + std::to_string(::getpid());
    const UniqueFd server = listen_at(machine);
    ConfinedChild child(
        own_network(),
        [machine] {
            const std::string name = unix_address(std::string_view("\0inside", 7));
            const UniqueFd own = listen_at(name);
            return in_words(try_address(name)) + " " + in_words(try_address(machine));
        },
        enter_own_network);
    if (!child.is_running()) return;

    CHECK(child.result() == "connected ECONNREFUSED");
    CHECK(!has_visitor(server));
}

TEST_CASE("a socket of another network reaches neither names nor ports of it") {
    const std::string name =
        unix_address(std::string_view("\0execward-test-other", 20)) + std::to_string(::getpid());
    const UniqueFd server = listen_at(name);
    UniqueFd local;
    UniqueFd tcp;
    ConfinedChild child(
        own_network(),
        [&] {
            return in_words(connect_to(local.get(), name)) + " " +
                   in_words(connect_to(tcp.get(), ipv4("127.0.0.1", 9)));
        },
        [&] {
            tcp = new_socket(AF_INET);
            local = socket_of_another_network(AF_UNIX);
            return bool(local);
        });
    if (!child.is_running()) return;

    CHECK(child.result() == "EACCES ENETUNREACH");
    CHECK(!has_visitor(server));
}

TEST_CASE("when all callers have ended there is nothing left to do") {
    ConfinedChild child(own_network(), [] { return std::string("over"); });
    REQUIRE(child.is_running());
    CHECK(child.result() == "over");

    siginfo_t ended = {};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(child.pid()), &ended, WEXITED | WNOWAIT) == 0);

    CHECK(child.drive([&] {
        pollfd waiting = {child.supervisor().fd(), POLLIN, 0};
        return ::poll(&waiting, 1, 0) == 0;
    }));
}

TEST_CASE("a caller that waits for a socket is answered when the errand for sockets is late") {
    ConfinedChild child(
        own_network(), [] { return in_words(try_address(ipv4("203.0.113.5", 443))); },
        [] { return true; }, {SYS_connect}, stuck_gateway());
    REQUIRE(child.is_running());

    child.pass(generous);

    CHECK(child.result() == "EAGAIN");
}
