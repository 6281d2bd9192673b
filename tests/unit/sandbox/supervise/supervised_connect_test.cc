#include "os/io.h"
#include "os/proc.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/sandbox/supervise/confined_child.h"

#include <sys/mman.h>
#include <sys/time.h>

#include <atomic>
#include <string>
#include <thread>

namespace {

using namespace ew;
using namespace ew::test;
using sandbox::PendingConnects;
using sandbox::SupervisorSettings;

SupervisorSettings network_on() {
    SupervisorSettings settings;
    settings.has_mounts = false;
    settings.is_network_off = false;
    settings.has_own_network = false;
    return settings;
}

// A listener with a full queue: a connect to it waits.
class FullListener {
public:
    FullListener()
        : listener_(listen_at(ipv4("127.0.0.1", 0), 0)),
          address_(ipv4("127.0.0.1", port_of(listener_))) {
        for (int i = 0; i < 4; ++i) {
            visitors_.emplace_back(
                ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
            (void)connect_to(visitors_.back().get(), address());
        }
    }

    // Stored, since children do not have the listener to ask.
    const std::string& address() const { return address_; }

    void make_room() {
        visitors_.clear();
        REQUIRE(os::set_nonblocking(listener_.get()));
        for (;;) {
            const UniqueFd visitor(::accept(listener_.get(), nullptr, nullptr));
            if (!visitor) return;
        }
    }

private:
    UniqueFd listener_;
    std::string address_;
    std::vector<UniqueFd> visitors_;
};

UniqueFd eager_socket() {
    return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

std::string unspecified() {
    const sockaddr none = {};
    return std::string(reinterpret_cast<const char*>(&none), sizeof none);
}

int closed_port() {
    const UniqueFd gone = listen_at(ipv4("127.0.0.1", 0));
    return port_of(gone);
}

std::string outcome_of(const UniqueFd& connecting) {
    pollfd waiting = {connecting.get(), POLLOUT, 0};
    if (::poll(&waiting, 1, static_cast<int>(generous.count())) != 1) return "nothing";
    int error = 0;
    socklen_t size = sizeof error;
    (void)::getsockopt(connecting.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    return in_words(error);
}

volatile std::sig_atomic_t signals_taken = 0;

void take_signal(int) {
    signals_taken = signals_taken + 1;
}

// Sends a signal soon and then repeatedly, so that one arrives while the call waits.
void be_interrupted(int flags) {
    struct sigaction action = {};
    action.sa_handler = take_signal;
    action.sa_flags = flags;
    (void)::sigaction(SIGALRM, &action, nullptr);
    const itimerval soon = {{0, 100'000}, {0, 100'000}};
    (void)::setitimer(ITIMER_REAL, &soon, nullptr);
}

} // namespace

TEST_CASE("no process with the same descriptors and memory gets at a forbidden socket file") {
    TempDirectory directory;
    const UniqueFd forbidden = listen_at(unix_address(directory.path("s")), 64);
    REQUIRE(forbidden);
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0), 4096);
    ConfinedChild child(network_on(), [&, port = port_of(server)] {
        struct Shared {
            std::string good;
            std::string bad;
            std::string address;
            UniqueFd local = new_socket(AF_UNIX);
            UniqueFd internet = new_socket(AF_INET);
            UniqueFd number = UniqueFd(::dup(internet.get()));
            std::atomic<bool> is_over = false;
        } shared;
        shared.bad = unix_address(directory.path("s")) + '\0';
        shared.good = ipv4("127.0.0.1", port);
        shared.good.resize(shared.bad.size());
        shared.address = shared.good;
        const auto change = [](void* at) {
            // Ends this process with the child, which a failed test kills.
            (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
            auto* const all = static_cast<Shared*>(at);
            while (!all->is_over) {
                (void)::dup2(all->internet.get(), all->number.get());
                std::memcpy(all->address.data(), all->good.data(), all->good.size());
                (void)::dup2(all->local.get(), all->number.get());
                std::memcpy(all->address.data(), all->bad.data(), all->bad.size());
            }
            return 0;
        };
        constexpr std::size_t stack_size = 256 << 10;
        std::vector<char> stack(stack_size);
        const pid_t changer = ::clone(change, stack.data() + stack_size,
                                      CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD, &shared);
        if (changer < 0) return in_words(errno);
        race(5000, [&] { (void)connect_to(shared.number.get(), shared.address); });
        shared.is_over = true;
        (void)::waitpid(changer, nullptr, 0);
        return std::string("tried");
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "tried");
    CHECK(!has_visitor(forbidden));
}

TEST_CASE("who waits for a connection holds up nobody else, and gets it in the end") {
    FullListener busy;
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0), 64);
    ConfinedChild child(network_on(), [&, port = port_of(server)] {
        std::string waited;
        std::thread waiting([&] {
            const UniqueFd fd = new_socket(AF_INET);
            const int error = connect_to(fd.get(), busy.address());
            const bool is_blocking = (::fcntl(fd.get(), F_GETFL) & O_NONBLOCK) == 0;
            waited = in_words(error) + (is_blocking ? "" : " and changed");
        });
        std::string said;
        for (int i = 0; i < 20; ++i)
            said = in_words(try_address(ipv4("127.0.0.1", port)));
        said += waited.empty() ? " meanwhile " : " afterwards ";
        waiting.join();
        return said + waited;
    });
    REQUIRE(child.is_running());
    int visitors = 0;
    REQUIRE(os::set_nonblocking(server.get()));
    REQUIRE(child.drive([&] {
        if (UniqueFd(::accept(server.get(), nullptr, nullptr))) ++visitors;
        return visitors == 20 && child.supervisor().connecting() > 0;
    }));

    busy.make_room();

    CHECK(child.result() == "connected meanwhile connected");
    CHECK(child.supervisor().connecting() == 0);
}

TEST_CASE("a socket that does not wait is told at once, and connected later") {
    FullListener busy;
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0));
    ConfinedChild child(network_on(), [&, port = port_of(server)] {
        const UniqueFd fd = eager_socket();
        const int error = connect_to(fd.get(), ipv4("127.0.0.1", port));
        std::string said = error == 0 || error == EINPROGRESS ? "begun " : in_words(error);
        said += outcome_of(fd) + " " + in_words(connect_to(fd.get(), ipv4("127.0.0.1", port)));
        (void)!::write(fd.get(), "hello", 5);
        const UniqueFd waiting = eager_socket();
        for (int i = 0; i < 2; ++i)
            said += " " + in_words(connect_to(waiting.get(), busy.address()));
        return said;
    });
    REQUIRE(child.is_running());

    const std::string said = child.result();

    CHECK((said == "begun connected connected EINPROGRESS EALREADY" ||
           said == "begun connected EISCONN EINPROGRESS EALREADY"));
    CHECK(child.supervisor().connecting() == 0);
    const UniqueFd visitor(::accept(server.get(), nullptr, nullptr));
    std::array<char, 8> bytes = {};
    CHECK(::read(visitor.get(), bytes.data(), bytes.size()) == 5);
}

TEST_CASE("a refused connection is told, and its socket can be used again") {
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0));
    ConfinedChild child(network_on(), [nobody = closed_port(), port = port_of(server)] {
        const UniqueFd fd = new_socket(AF_INET);
        std::string said;
        for (int i = 0; i < 2; ++i)
            said += in_words(connect_to(fd.get(), ipv4("127.0.0.1", nobody))) + " ";
        for (int i = 0; i < 2; ++i)
            said += in_words(connect_to(fd.get(), ipv4("127.0.0.1", port))) + " ";
        const UniqueFd eager = eager_socket();
        (void)connect_to(eager.get(), ipv4("127.0.0.1", nobody));
        return said + outcome_of(eager);
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "ECONNREFUSED ECONNREFUSED connected EISCONN ECONNREFUSED");
}

TEST_CASE("an association of either kind is ended, and another one begun") {
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0));
    ConfinedChild child(network_on(), [port = port_of(server)] {
        std::string said;
        for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
            const UniqueFd fd = new_socket(AF_INET, type);
            for (const std::string& address :
                 {ipv4("127.0.0.1", port), unspecified(), ipv4("127.0.0.1", port)})
                said += in_words(connect_to(fd.get(), address)) + " ";
        }
        const UniqueFd route(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
        const sa_family_t netlink[6] = {AF_NETLINK};
        return said +
               in_words(connect_to(route.get(), std::string(reinterpret_cast<const char*>(netlink),
                                                            sizeof netlink)));
    });
    REQUIRE(child.is_running());

    CHECK(child.result() ==
          "connected connected connected connected connected connected connected");
}

TEST_CASE("two hundred connects at once all succeed") {
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0), 512);
    ConfinedChild child(network_on(), [port = port_of(server)] {
        std::atomic<int> connected = 0;
        std::vector<std::thread> threads;
        for (int i = 0; i < 200; ++i)
            threads.emplace_back([&connected, port] {
                if (try_address(ipv4("127.0.0.1", port)) == 0) ++connected;
            });
        for (std::thread& thread : threads)
            thread.join();
        return std::to_string(connected);
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "200");
    CHECK(child.supervisor().connecting() == 0);
}

TEST_CASE("one connection too many to wait for fails, and all are forgotten with their caller") {
    FullListener busy;
    ConfinedChild child(network_on(), [&] {
        std::atomic<int> refused = 0;
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < PendingConnects::most + 3; ++i)
            threads.emplace_back([&] {
                if (try_address(busy.address()) == EAGAIN) ++refused;
                if (refused == 3) ::_exit(0); // the others would wait
            });
        for (std::thread& thread : threads)
            thread.join();
        return std::string("not reached");
    });
    REQUIRE(child.is_running());
    std::size_t most = 0;

    REQUIRE(child.drive([&] {
        most = std::max(most, child.supervisor().connecting());
        return most == PendingConnects::most && child.supervisor().connecting() == 0;
    }));

    CHECK(child.result().empty());
    CHECK(!child.supervisor().next_deadline());
}

TEST_CASE("the time limit of a socket is kept") {
    FullListener busy;
    ConfinedChild child(network_on(), [&] {
        const UniqueFd fd = new_socket(AF_INET);
        const timeval limit = {0, 50'000};
        (void)::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        return in_words(connect_to(fd.get(), busy.address()));
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "EINPROGRESS"); // the error of connect(2) in this case
}

TEST_CASE("a signal ends the wait for a connection, as it does without a sandbox") {
    FullListener busy;
    ConfinedChild child(network_on(), [&] {
        be_interrupted(0);
        const std::string said = in_words(try_address(busy.address()));
        return said + (signals_taken > 0 ? " after a signal" : "");
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "EINTR after a signal");
}

TEST_CASE("a signal whose handler asks for it lets the wait for a connection go on") {
    FullListener busy;
    auto* const taken = static_cast<volatile std::sig_atomic_t*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ConfinedChild child(network_on(), [&] {
        be_interrupted(SA_RESTART);
        std::atomic<bool> is_over = false;
        std::thread teller([&] {
            sigset_t all;
            sigfillset(&all);
            (void)::pthread_sigmask(SIG_BLOCK, &all, nullptr);
            while (!is_over) {
                *taken = signals_taken;
                std::this_thread::yield();
            }
        });
        const std::string said = in_words(try_address(busy.address()));
        is_over = true;
        teller.join();
        return said;
    });
    REQUIRE(child.is_running());
    REQUIRE(child.drive([&] { return *taken > 1; }));

    busy.make_room();

    CHECK(child.result() == "connected");
    (void)::munmap(const_cast<std::sig_atomic_t*>(taken), 4096);
}
