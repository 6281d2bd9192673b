#include "os/blocked_call.h"
#include "support/testing.h"

#include <poll.h>
#include <sys/syscall.h>

#include <string>

using ew::os::BlockedCall;
using ew::os::InputWait;
using ew::os::parse_blocked_call;

TEST_SUITE_BEGIN("os/blocked_call");

TEST_CASE("a blocked call has a number and its arguments") {
    const std::optional<BlockedCall> call = parse_blocked_call(
        "7 0x7ffd1 0x2 0xffffffffffffffff 0x0 0x8 0x0 0x7ffd00000000 0x7f0000000000\n");

    REQUIRE(call);
    CHECK(call->number == 7);
    CHECK(call->arguments[1] == 2);
    CHECK(static_cast<int>(call->arguments[2]) == -1);
}

TEST_CASE("what is no call of a 64-bit program is none") {
    for (const char* text : {"", "running\n", "-1 0x7ffd00000000 0x7f0000000000\n", "0 0x0 0x1\n",
                             "3 0x0 0x0 0x0 0x0 0x0 0x0 0xffffd000 0xf7f00000\n",
                             "0 0x0 zero 0x0 0x0 0x0 0x0 0x7ffd00000000 0x7f0000000000\n"})
        CHECK_FALSE(parse_blocked_call(text));
}

TEST_CASE("only calls that wait for input are known") {
    CHECK(ew::os::input_wait_form(SYS_read)->wait == InputWait::read);
    CHECK(ew::os::input_wait_form(SYS_ppoll)->wait == InputWait::poll);
    CHECK(ew::os::input_wait_form(SYS_epoll_pwait)->wait == InputWait::epoll);
    for (const long number : {SYS_write, SYS_wait4, SYS_clock_nanosleep, SYS_futex})
        CHECK_FALSE(ew::os::input_wait_form(number));
}

TEST_CASE("a poll watches the descriptors whose input it asks for") {
    const pollfd set[] = {{0, POLLIN, 0}, {5, POLLOUT, 0}, {-1, POLLIN, 0}, {7, POLLRDNORM, 0}};
    const std::string memory(reinterpret_cast<const char*>(set), sizeof set);

    CHECK(ew::os::watched_by_poll(memory) == std::vector{0, 7});
    CHECK(ew::os::watched_by_poll(memory.substr(0, 5)).empty());
}

TEST_CASE("a select watches the bits of its set") {
    CHECK(ew::os::watched_by_select(std::string("\x01\x80\0\0\0\0\0\x01", 8)) ==
          std::vector{0, 15, 56});
}

TEST_CASE("an epoll instance tells what it watches") {
    const std::string text = "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1\n"
                             "tfd:        0 events:       19 data:                0  pos:0 ino:3\n"
                             "tfd:        6 events:        4 data:                6  pos:0 ino:4\n"
                             "tfd:       12 events: 8000001d data:                c  pos:0 ino:5\n";

    CHECK(ew::os::watched_by_epoll(text) == std::vector{0, 12});
}

TEST_SUITE_END();
