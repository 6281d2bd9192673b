#include "os/io.h"
#include "sandbox/supervise/shared_socket.h"
#include "support/testing.h"
#include "unit/sandbox/supervise/confined_child.h"

#include <sys/mman.h>
#include <sys/time.h>

namespace {

using namespace ew;
using namespace ew::test;
using sandbox::SharedSocket;

constexpr Millis far_too_long{50'000}; // less than the owner's own limit

// Another process that makes the socket a blocking one, again and again.
class Meddler {
public:
    explicit Meddler(int fd)
        : times_(static_cast<volatile std::uint64_t*>(
              ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        REQUIRE(pid_ >= 0);
        if (pid_ != 0) return;
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (::getppid() == parent) {
            for (int i = 0; i < 1000; ++i)
                (void)::fcntl(fd, F_SETFL, O_RDWR);
            *times_ = *times_ + 1000;
        }
        ::_exit(0);
    }

    ~Meddler() {
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
        (void)::munmap(const_cast<std::uint64_t*>(times_), 4096);
    }

    std::uint64_t times() const { return *times_; }

    Meddler(const Meddler&) = delete;
    Meddler& operator=(const Meddler&) = delete;

private:
    volatile std::uint64_t* times_;
    pid_t pid_ = 0;
};

} // namespace

TEST_CASE("connecting a shared socket does not wait, whatever its owner does to it") {
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0), 0);
    const std::string address = ipv4("127.0.0.1", port_of(server));
    std::vector<UniqueFd> visitors;
    for (int i = 0; i < 4; ++i) {
        visitors.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        (void)connect_to(visitors.back().get(), address);
    }
    const sockaddr none = {};
    const std::string unspecified(reinterpret_cast<const char*>(&none), sizeof none);
    SharedSocket socket(new_socket(AF_INET));
    const Meddler meddler(socket.get());
    const TimePoint end = clock_now() + Millis(20'000);

    // A connect that waited would wait for ever: the server accepts no more.
    while (meddler.times() < 100'000 && clock_now() < end) {
        REQUIRE(socket.connect(address) == EINPROGRESS);
        REQUIRE(socket.connect(unspecified) == 0);
    }
}

TEST_CASE("closing a shared socket does not wait for what its owner has not sent yet") {
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0));
    UniqueFd client = new_socket(AF_INET);
    REQUIRE(connect_to(client.get(), ipv4("127.0.0.1", port_of(server))) == 0);
    const linger wait = {1, 60};
    REQUIRE(::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait) == 0);
    REQUIRE(os::set_nonblocking(client.get()));
    const std::string much(1 << 20, 'x');
    while (::write(client.get(), much.data(), much.size()) > 0) {}
    const TimePoint before = clock_now();

    { const SharedSocket socket(std::move(client)); }

    CHECK(clock_now() - before < far_too_long);
}

TEST_CASE("a shared socket is left as it was, and no timer goes on") {
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0));
    {
        const sandbox::InterruptedWaits interrupted; // around others: only the last one ends
        SharedSocket socket(new_socket(AF_INET));
        CHECK(socket.is_blocking());
        (void)socket.connect(ipv4("127.0.0.1", port_of(server)));
        CHECK(socket.is_blocking());
    }

    itimerval timer = {};
    REQUIRE(::getitimer(ITIMER_REAL, &timer) == 0);
    CHECK((timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0));
}

TEST_CASE("a shared socket tells its kind") {
    const auto kind = [](int family, int type, int protocol = 0) {
        return SharedSocket(UniqueFd(::socket(family, type | SOCK_CLOEXEC, protocol))).kind();
    };

    CHECK(kind(AF_INET, SOCK_STREAM).is_tcp());
    CHECK(kind(AF_INET6, SOCK_STREAM).is_stream());
    CHECK(!kind(AF_INET, SOCK_STREAM).is_udp());
    CHECK(kind(AF_INET6, SOCK_DGRAM).is_udp());
    CHECK(!kind(AF_INET, SOCK_DGRAM).is_stream());
    CHECK(kind(AF_UNIX, SOCK_STREAM).is_unix());
    CHECK(!kind(AF_UNIX, SOCK_STREAM).is_stream());
    const sandbox::SocketKind several = kind(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
    if (several.domain == 0) return; // the kernel has none
    CHECK(several.is_stream());
    CHECK(!several.is_tcp());
}

TEST_CASE("the time limit of a connect is that of the socket") {
    SharedSocket socket(new_socket(AF_INET));
    CHECK(!socket.longest_connect());

    const timeval limit = {2, 500'000};
    REQUIRE(::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0);
    CHECK(socket.longest_connect() == Millis(2500));
}
