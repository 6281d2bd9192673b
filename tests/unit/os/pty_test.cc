#include "os/io.h"
#include "os/pty.h"
#include "support/testing.h"

#include <sys/ioctl.h>
#include <termios.h>

#include <array>
#include <string>

using ew::os::IoState;
using ew::os::Pty;

namespace {

Pty new_pty(ew::os::WindowSize size = {}) {
    ew::Result<Pty> pty = ew::os::open_pty(size);
    REQUIRE(pty);
    return std::move(*pty);
}

winsize size_of(int terminal) {
    winsize size = {};
    REQUIRE(::ioctl(terminal, TIOCGWINSZ, &size) == 0);
    return size;
}

} // namespace

TEST_SUITE_BEGIN("os/pty");

TEST_CASE("a terminal has the size that was asked for from the start") {
    const Pty pty = new_pty({40, 132});

    CHECK(size_of(pty.slave.get()).ws_row == 40);
    CHECK(size_of(pty.slave.get()).ws_col == 132);
}

TEST_CASE("a terminal can be resized to the largest size there is") {
    const Pty pty = new_pty();

    CHECK(ew::os::set_window_size(pty.master.get(), {65535, 65535}));

    CHECK(size_of(pty.slave.get()).ws_row == 65535);
    CHECK(size_of(pty.slave.get()).ws_col == 65535);
}

TEST_CASE("an erase takes a whole character of UTF-8") {
    const Pty pty = new_pty();

    termios settings = {};
    REQUIRE(::tcgetattr(pty.slave.get(), &settings) == 0);
    CHECK((settings.c_iflag & IUTF8) != 0);
    CHECK((settings.c_lflag & ICANON) != 0);
}

TEST_CASE("what is no terminal cannot be resized") {
    ew::Result<ew::os::Pipe> pipe = ew::os::make_pipe();
    REQUIRE(pipe);

    CHECK_FALSE(ew::os::set_window_size(pipe->read.get(), {}));
}

TEST_CASE("the master does not block, and its end comes when nobody has the slave open") {
    Pty pty = new_pty();
    std::array<char, 8> block = {};
    CHECK(ew::os::read_some(pty.master.get(), block.data(), 8).state == IoState::would_block);

    pty.slave.reset();

    CHECK(ew::os::read_some(pty.master.get(), block.data(), 8).state == IoState::end);
}

TEST_CASE("a new terminal edits lines and ends its input with Ctrl-D") {
    const Pty pty = new_pty();

    const ew::os::LineMode mode = ew::os::line_mode(pty.master.get());

    CHECK(mode.is_canonical);
    CHECK(mode.end_of_file == '\x04');
}

TEST_CASE("the line mode is the one that the program has set") {
    const Pty pty = new_pty();
    termios settings = {};
    REQUIRE(::tcgetattr(pty.slave.get(), &settings) == 0);
    settings.c_lflag &= ~static_cast<tcflag_t>(ICANON);
    REQUIRE(::tcsetattr(pty.slave.get(), TCSANOW, &settings) == 0);

    CHECK_FALSE(ew::os::line_mode(pty.master.get()).is_canonical);
}

TEST_CASE("a canonical line is cut where we say it is") {
    const Pty pty = new_pty();
    const std::string line = std::string(ew::os::longest_canonical_line + 1, 'x') + "\n";
    for (std::string_view rest = line; !rest.empty();)
        rest.remove_prefix(ew::os::write_some(pty.master.get(), rest.substr(0, 1000)).count);

    std::string read(8192, '\0');
    const ew::os::IoResult result = ew::os::read_some(pty.slave.get(), read.data(), read.size());

    CHECK(result.count == ew::os::longest_canonical_line + 1); // and the line end
}

TEST_SUITE_END();
