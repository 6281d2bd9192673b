#include "sandbox/gateway/flow.h"
#include "support/testing.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <climits>
#include <string>

using namespace ew;
using namespace ew::sandbox;
using Moved = Flow::Moved;

TEST_SUITE_BEGIN("sandbox/gateway");

namespace {

struct Pair {
    UniqueFd near;
    UniqueFd far; // where the relay has it

    Pair() {
        std::array<int, 2> ends = {-1, -1};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) ==
                0);
        near = UniqueFd(ends[0]);
        far = UniqueFd(ends[1]);
    }
};

// A connection over TCP, which alone has urgent data.
Pair tcp_pair() {
    Pair pair;
    const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    void* const bytes = &address;
    auto* const name = static_cast<sockaddr*>(bytes);
    REQUIRE(::bind(listener.get(), name, size) == 0);
    REQUIRE(::listen(listener.get(), 1) == 0);
    REQUIRE(::getsockname(listener.get(), name, &size) == 0);
    pair.near = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(pair.near.get(), name, size) == 0);
    pair.far = UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    REQUIRE(pair.far);
    return pair;
}

std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    unsigned state = 7;
    for (char& c : text)
        c = static_cast<char>((state = state * 1103515245 + 12345) >> 16);
    return text;
}

std::string read_some(int from, std::size_t most) {
    std::string text(most, '\0');
    const ssize_t count = ::recv(from, text.data(), most, 0);
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
}

// Writes as much as there is room for, takes and flushes once, and reads a part: the target is the
// slower one. Returns what came.
std::string carry(Carrier& carrier, Flow& flow, const std::string& all) {
    const Pair source;
    const Pair target;
    std::string came;
    std::size_t written = 0;
    bool is_ended = false;
    while (!flow.is_done()) {
        const ssize_t count =
            ::send(source.near.get(), all.data() + written, all.size() - written, MSG_NOSIGNAL);
        if (count > 0) written += static_cast<std::size_t>(count);
        if (written == all.size() && !is_ended)
            is_ended = ::shutdown(source.near.get(), SHUT_WR) == 0;
        Moved moved = flow.flush(target.far.get(), carrier);
        if (moved == Moved::something)
            moved = flow.take(source.far.get(), target.far.get(), carrier);
        REQUIRE(moved != Moved::broken);
        came += read_some(target.near.get(), 30'000);
    }
    for (std::string more = "x"; !more.empty(); came += more)
        more = read_some(target.near.get(), 1 << 20);
    return came;
}

} // namespace

TEST_CASE("bytes arrive as they were sent, by pipes and by copies, and the count is right") {
    const std::string all = pattern(3'000'001);
    for (const int end_of_descriptors : {INT_MAX, 0}) {
        Carrier carrier(end_of_descriptors);
        Flow flow;

        const std::string came = carry(carrier, flow, all);

        CHECK(came == all);
        CHECK(flow.count() == all.size());
        CHECK(carrier.take_pipe().has_value() == (end_of_descriptors == INT_MAX));
    }
}

TEST_CASE("urgent data neither holds up what follows nor ends it") {
    Carrier carrier(INT_MAX);
    Flow flow;
    const Pair source = tcp_pair();
    const Pair target;
    const std::string before = pattern(100'000);
    const std::string behind = pattern(50'000);
    std::string came;
    REQUIRE(::send(source.near.get(), before.data(), before.size(), 0) == 100'000);
    REQUIRE(::send(source.near.get(), "!", 1, MSG_OOB) == 1);
    REQUIRE(::send(source.near.get(), behind.data(), behind.size(), 0) == 50'000);
    REQUIRE(::shutdown(source.near.get(), SHUT_WR) == 0);

    while (!flow.is_done()) {
        pollfd ready = {source.far.get(), POLLIN, 0};
        REQUIRE(::poll(&ready, 1, 60'000) == 1);
        Moved moved = flow.flush(target.far.get(), carrier);
        if (moved == Moved::something)
            moved = flow.take(source.far.get(), target.far.get(), carrier);
        REQUIRE(moved != Moved::broken);
        came += read_some(target.near.get(), 1 << 20);
    }
    for (std::string more = "x"; !more.empty(); came += more)
        more = read_some(target.near.get(), 1 << 20);

    CHECK(came == before + behind);
}

TEST_CASE("what was looked at is passed on before what follows") {
    Carrier carrier(INT_MAX);
    Flow flow;
    const Pair source;
    const Pair target;
    REQUIRE(::send(source.near.get(), "greeting", 8, 0) == 8);
    std::string_view seen;
    REQUIRE(flow.read(source.far.get(), carrier.block(), seen) == Moved::something);
    flow.hold(std::string(seen));
    REQUIRE(::send(source.near.get(), " more", 5, 0) == 5);

    CHECK(flow.has_to_write());
    CHECK(flow.flush(target.far.get(), carrier) == Moved::something);
    CHECK(flow.take(source.far.get(), target.far.get(), carrier) == Moved::something);

    CHECK(read_some(target.near.get(), 100) == "greeting more");
    CHECK(flow.take(source.far.get(), target.far.get(), carrier) == Moved::nothing);
}

TEST_CASE("a target that is gone breaks the flow") {
    Carrier carrier(INT_MAX);
    Flow flow;
    const Pair source;
    Pair target;
    target.near.reset();
    REQUIRE(::send(source.near.get(), "x", 1, 0) == 1);

    CHECK(flow.take(source.far.get(), target.far.get(), carrier) == Moved::broken);
}
