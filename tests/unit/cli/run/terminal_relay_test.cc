#include "cli/run/terminal_relay.h"
#include "os/pty.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <string>

using ew::UniqueFd;
using ew::cli::CallerTerminal;
using ew::cli::Flow;
using ew::os::Pipe;

namespace {

Pipe new_pipe() {
    ew::Result<Pipe> pipe = ew::os::make_pipe();
    REQUIRE(pipe);
    REQUIRE(ew::os::set_nonblocking(pipe->read.get()));
    REQUIRE(ew::os::set_nonblocking(pipe->write.get()));
    return std::move(*pipe);
}

// A flow between two pipes, and the outer ends of them.
struct Scene {
    Pipe before = new_pipe();
    Pipe after = new_pipe();
    Flow flow{std::move(before.read), std::move(after.write)};

    // Lets the flow do what poll(2) says it can. False: it has to wait.
    bool step() {
        std::array<pollfd, 2> polled = {flow.source(), flow.target()};
        if (::poll(polled.data(), polled.size(), 0) <= 0) return false;
        return flow.on_ready(polled[0].revents, polled[1].revents);
    }

    void run() {
        while (step()) {}
    }

    std::string taken() {
        std::string text(1 << 20, '\0');
        const ew::os::IoResult result =
            ew::os::read_some(after.read.get(), text.data(), text.size());
        text.resize(result.count);
        return text;
    }
};

std::size_t fill(int fd) {
    const std::string block(4096, 'x');
    std::size_t written = 0;
    for (ssize_t count = 0; (count = ::write(fd, block.data(), block.size())) > 0;)
        written += static_cast<std::size_t>(count);
    return written;
}

termios settings_of(int terminal) {
    termios settings = {};
    REQUIRE(::tcgetattr(terminal, &settings) == 0);
    return settings;
}

} // namespace

TEST_SUITE_BEGIN("cli/terminal_relay");

TEST_CASE("bytes pass as they are, and the end after them") {
    Scene scene;
    const std::string bytes("a\0\xff\r\n\x04", 6);
    REQUIRE(::write(scene.before.write.get(), bytes.data(), bytes.size()) == 6);
    scene.before.write.reset();

    scene.run();

    CHECK(scene.taken() == bytes);
    CHECK_FALSE(scene.flow.is_open());
    char byte = 0;
    CHECK(::read(scene.after.read.get(), &byte, 1) == 0);
}

TEST_CASE("a target that is full holds up the source, and nothing is lost") {
    Scene scene;
    std::size_t written = 0;
    for (int turn = 0; turn < 8; ++turn) { // until both pipes and the flow are full
        written += fill(scene.before.write.get());
        scene.run();
    }
    CHECK(scene.flow.is_held_up());
    CHECK(scene.flow.source().fd == -1);

    std::size_t read = 0;
    scene.before.write.reset();
    for (std::string text; !(text = scene.taken()).empty(); scene.run())
        read += text.size();

    CHECK(read == written);
    CHECK_FALSE(scene.flow.is_open());
}

TEST_CASE("a target that nobody reads any more closes the source") {
    Scene scene;

    scene.after.read.reset();
    scene.run();

    CHECK_FALSE(scene.flow.is_open());
    CHECK(scene.flow.write_error() == 0);
    pollfd writer = {scene.before.write.get(), 0, 0};
    REQUIRE(::poll(&writer, 1, 0) == 1);
    CHECK((writer.revents & POLLERR) != 0); // the next write is EPIPE
}

TEST_CASE("an ended flow has nothing to wait for") {
    Scene scene;
    scene.flow.close();

    CHECK(scene.flow.source().fd == -1);
    CHECK(scene.flow.target().fd == -1);
    CHECK(Flow().source().fd == -1);
    CHECK_FALSE(Flow().on_ready(POLLIN, POLLOUT));
}

TEST_CASE("a source that has ended is not asked again while the target is full") {
    Scene scene;
    UniqueFd other(::fcntl(scene.flow.target().fd, F_DUPFD_CLOEXEC, 3));
    fill(other.get());
    REQUIRE(::write(scene.before.write.get(), "last", 4) == 4);
    scene.before.write.reset();

    scene.run();

    CHECK(scene.flow.is_held_up());
    std::array<pollfd, 2> polled = {scene.flow.source(), scene.flow.target()};
    CHECK(::poll(polled.data(), polled.size(), 0) == 0);
}

TEST_CASE("what the reader has not taken is counted") {
    Scene scene;
    REQUIRE(::write(scene.before.write.get(), "taken, not taken", 16) == 16);
    scene.run();
    std::array<char, 7> taken = {};
    REQUIRE(::read(scene.after.read.get(), taken.data(), taken.size()) == 7);

    scene.flow.close();

    CHECK(scene.flow.untaken() == 9);
}

TEST_CASE("a terminal gets its settings back") {
    ew::Result<ew::os::Pty> pty = ew::os::open_pty({});
    REQUIRE(pty);
    const termios before = settings_of(pty->slave.get());
    {
        auto terminal = CallerTerminal::of(pty->slave.get());
        REQUIRE(terminal);
        REQUIRE((*terminal)->make_raw());
        CHECK((settings_of(pty->slave.get()).c_lflag & (ICANON | ECHO | ISIG)) == 0);
        CHECK((settings_of(pty->slave.get()).c_oflag & OPOST) == 0);
    }
    const termios after = settings_of(pty->slave.get());
    CHECK(after.c_lflag == before.c_lflag);
    CHECK(after.c_iflag == before.c_iflag);
    CHECK(after.c_oflag == before.c_oflag);
}

TEST_CASE("a terminal gets back what somebody has set since it was made raw") {
    ew::Result<ew::os::Pty> pty = ew::os::open_pty({});
    REQUIRE(pty);
    auto terminal = CallerTerminal::of(pty->slave.get());
    REQUIRE(terminal);
    termios others = settings_of(pty->slave.get());
    others.c_cc[VERASE] = '#';
    REQUIRE((*terminal)->make_raw());

    REQUIRE(::tcsetattr(pty->slave.get(), TCSANOW, &others) == 0);
    REQUIRE((*terminal)->make_raw());
    CHECK((settings_of(pty->slave.get()).c_lflag & ICANON) == 0);
    REQUIRE((*terminal)->make_raw()); // once more: what is raw is nobody's setting
    (*terminal)->restore();

    CHECK(settings_of(pty->slave.get()).c_cc[VERASE] == '#');
    CHECK((settings_of(pty->slave.get()).c_lflag & ICANON) != 0);
}

TEST_CASE("a pipe is no terminal") {
    const Pipe pipe = new_pipe();

    CHECK_FALSE(CallerTerminal::of(pipe.read.get()));
    CHECK_FALSE(ew::cli::is_one_terminal(pipe.read.get(), pipe.read.get(), pipe.read.get()));
}

TEST_CASE("two terminals are not one") {
    ew::Result<ew::os::Pty> one = ew::os::open_pty({});
    ew::Result<ew::os::Pty> other = ew::os::open_pty({});
    REQUIRE(one);
    REQUIRE(other);
    const int first = one->slave.get();

    CHECK(ew::cli::is_one_terminal(first, first, first));
    CHECK_FALSE(ew::cli::is_one_terminal(first, first, other->slave.get()));
}

TEST_CASE("a large text goes through a terminal in raw mode both ways, byte for byte") {
    ew::Result<ew::os::Pty> pty = ew::os::open_pty({});
    REQUIRE(pty);
    auto terminal = CallerTerminal::of(pty->slave.get());
    REQUIRE(terminal);
    REQUIRE((*terminal)->make_raw());
    std::string text;
    for (int i = 0; i < 1 << 20; ++i)
        text += static_cast<char>(i * 7 + i / 256);
    Pipe before = new_pipe();
    Pipe after = new_pipe();
    REQUIRE(ew::os::set_nonblocking(pty->slave.get()));
    Flow in(std::move(before.read), std::move(pty->master));
    Flow out(std::move(pty->slave), std::move(after.write));

    std::string passed;
    std::size_t sent = 0;
    std::string block(1 << 16, '\0');
    constexpr int patience_ms = 120'000;
    while (passed.size() < text.size()) {
        const ew::os::IoResult wrote =
            ew::os::write_some(before.write.get(), std::string_view(text).substr(sent, 1 << 14));
        sent += wrote.count;
        std::array<pollfd, 4> polled = {in.source(), in.target(), out.source(), out.target()};
        REQUIRE(::poll(polled.data(), polled.size(), patience_ms) > 0);
        in.on_ready(polled[0].revents, polled[1].revents);
        out.on_ready(polled[2].revents, polled[3].revents);
        const ew::os::IoResult got =
            ew::os::read_some(after.read.get(), block.data(), block.size());
        passed.append(block, 0, got.count);
    }

    CHECK(passed == text);
}

TEST_SUITE_END();
