#include "os/io.h"
#include "support/testing.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <string>

using ew::UniqueFd;
using ew::os::IoResult;
using ew::os::IoState;
using ew::os::Pipe;
using ew::os::StdioEnd;

namespace {

Pipe new_pipe() {
    ew::Result<Pipe> pipe = ew::os::make_pipe();
    REQUIRE(pipe);
    return std::move(*pipe);
}

bool is_blocking(int fd) {
    return (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
}

} // namespace

TEST_SUITE_BEGIN("os/io");

TEST_CASE("reading tells bytes, nothing yet and the end apart") {
    Pipe pipe = new_pipe();
    REQUIRE(ew::os::set_nonblocking(pipe.read.get()));
    std::array<char, 8> block = {};

    CHECK(ew::os::read_some(pipe.read.get(), block.data(), 8).state == IoState::would_block);

    REQUIRE(ew::os::write_some(pipe.write.get(), "abc").count == 3);
    CHECK(ew::os::readable_bytes(pipe.read.get()) == 3);
    const IoResult some = ew::os::read_some(pipe.read.get(), block.data(), 8);
    CHECK(some.state == IoState::progress);
    CHECK(some.count == 3);

    pipe.write.reset();
    CHECK(ew::os::read_some(pipe.read.get(), block.data(), 8).state == IoState::end);
}

TEST_CASE("of a new pipe those ends do not block that were asked for, and none is inherited") {
    using ew::os::NonBlocking;
    for (const NonBlocking ends :
         {NonBlocking::none, NonBlocking::read_end, NonBlocking::write_end, NonBlocking::both}) {
        ew::Result<Pipe> pipe = ew::os::make_pipe(ends);
        REQUIRE(pipe);
        const bool both = ends == NonBlocking::both;

        CHECK(is_blocking(pipe->read.get()) == (!both && ends != NonBlocking::read_end));
        CHECK(is_blocking(pipe->write.get()) == (!both && ends != NonBlocking::write_end));
        CHECK(::fcntl(pipe->read.get(), F_GETFD) == FD_CLOEXEC);
        CHECK(::fcntl(pipe->write.get(), F_GETFD) == FD_CLOEXEC);
    }
}

TEST_CASE("reading into two pieces fills the first one first") {
    const Pipe pipe = new_pipe();
    std::array<char, 4> first = {};
    std::array<char, 4> second = {};
    const std::array<iovec, 2> parts = {{{first.data(), 4}, {second.data(), 4}}};
    REQUIRE(ew::os::write_some(pipe.write.get(), "abcdef").count == 6);

    CHECK(ew::os::read_some(pipe.read.get(), parts.data(), 2).count == 6);
    CHECK(std::string(first.data(), 4) == "abcd");
    CHECK(std::string(second.data(), 2) == "ef");
}

TEST_CASE("a full pipe takes nothing for now") {
    const Pipe pipe = new_pipe();
    REQUIRE(ew::os::set_nonblocking(pipe.write.get()));
    const std::string block(64 << 10, 'x');
    while (ew::os::write_some(pipe.write.get(), block).state == IoState::progress)
        continue;

    CHECK(ew::os::write_some(pipe.write.get(), "x").state == IoState::would_block);
}

TEST_CASE("an end of a pipe does not block and leaves the flags of the given descriptor alone") {
    const Pipe pipe = new_pipe();
    ew::Result<StdioEnd> end = StdioEnd::open(pipe.read.get(), false);
    REQUIRE(end);
    std::array<char, 8> block = {};

    CHECK(end->read(block.data(), 8).state == IoState::would_block);
    CHECK(is_blocking(pipe.read.get()));
    CHECK(end->get() > 2);
    CHECK_FALSE(end->is_terminal());
}

TEST_CASE("an end of a socket does not block and leaves the flags of the given descriptor alone") {
    int ends[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    const UniqueFd ours(ends[0]);
    UniqueFd theirs(ends[1]);
    ew::Result<StdioEnd> end = StdioEnd::open(ours.get(), true);
    REQUIRE(end);
    std::array<char, 8> block = {};

    CHECK(end->read(block.data(), 8).state == IoState::would_block);
    CHECK(end->write("abc").count == 3);
    CHECK(is_blocking(ours.get()));

    theirs.reset();
    CHECK(end->write("abc").state == IoState::end); // and no SIGPIPE
}

TEST_CASE("a regular file can be an end too") {
    const UniqueFd file(::open("/dev/null", O_RDWR | O_CLOEXEC));
    ew::Result<StdioEnd> end = StdioEnd::open(file.get(), true);

    REQUIRE(end);
    CHECK(end->write("abc").count == 3);
}

TEST_CASE("a descriptor that is not open is an error that names it") {
    ew::Result<StdioEnd> end = StdioEnd::open(12345, false);

    REQUIRE_FALSE(end);
    CHECK(end.error().message == "descriptor 12345: Bad file descriptor");
}

TEST_CASE("an error of the system says what was tried and why it failed") {
    CHECK(ew::os::system_error("open /x", ENOENT).message == "open /x: No such file or directory");
}

TEST_SUITE_END();
