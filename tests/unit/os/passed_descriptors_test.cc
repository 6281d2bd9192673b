#include "os/io.h"
#include "os/passed_descriptors.h"
#include "support/testing.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

using namespace ew;
using namespace ew::os;

namespace {

std::array<UniqueFd, 2> packets() {
    std::array<int, 2> ends = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

} // namespace

TEST_CASE("descriptors arrive in their order, and lead to the same files") {
    const auto [near, far] = packets();
    Result<Pipe> pipe = make_pipe();
    REQUIRE(pipe);
    const std::array<int, 2> sent = {pipe->write.get(), pipe->read.get()};

    REQUIRE(send_descriptors(near.get(), sent));
    const std::vector<UniqueFd> received = receive_descriptors(far.get());

    REQUIRE(received.size() == 2);
    REQUIRE(::write(received[0].get(), "x", 1) == 1);
    char byte = 0;
    CHECK(::read(received[1].get(), &byte, 1) == 1);
    CHECK(byte == 'x');
}

TEST_CASE("without a message there are no descriptors, and no more are sent than a message has") {
    const auto [near, far] = packets();
    CHECK(receive_descriptors(far.get()).empty());
    CHECK(!send_descriptors(near.get(), {}));
    CHECK(!send_descriptors(near.get(), std::vector<int>(most_passed + 1, near.get())));
    REQUIRE(send_descriptors(near.get(), std::vector<int>(most_passed, near.get())));
    CHECK(receive_descriptors(far.get()).size() == most_passed);
}
