#include "base/unique_fd.h"
#include "sandbox/supervise/caller.h"
#include "support/testing.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

using ew::sandbox::numbers_in;
using ew::sandbox::status_field;
using Numbers = std::vector<unsigned>;

TEST_SUITE_BEGIN("sandbox/supervise/caller");

TEST_CASE("numbers end with their text, whatever lies behind it") {
    constexpr std::string_view memory = "10 20\t30 4 50";

    CHECK(numbers_in(memory) == Numbers{10, 20, 30, 4, 50});
    CHECK(numbers_in(memory.substr(0, 8)) == Numbers{10, 20, 30});
    CHECK(numbers_in(memory.substr(0, 7)) == Numbers{10, 20, 3});
    CHECK(numbers_in(memory.substr(0, 3)) == Numbers{10});
    CHECK(numbers_in(memory.substr(0, 0)).empty());
}

TEST_CASE("a number that no user can have is left out") {
    CHECK(numbers_in("1 99999999999 2") == Numbers{1, 2});
    CHECK(numbers_in("-5 x7") == Numbers{5, 7});
}

TEST_CASE("a field of a status is found by its whole name") {
    constexpr std::string_view status = "Name:\tUid\nTgid:\t7\nUid:\t1\t2 \nGroups:\t\n";

    CHECK(status_field(status, "Uid") == "1\t2");
    CHECK(status_field(status, "gid").empty());
    CHECK(status_field(status, "Groups").empty());
    CHECK(numbers_in(status_field(status, "Uid")) == Numbers{1, 2});
}

TEST_CASE("a caller is held by its thread, and the process of a thread is known") {
    const auto first = ew::sandbox::hold_caller(::getpid());
    REQUIRE(first);
    CHECK(first->caller.process == ::getpid());
    CHECK(first->handle);
    std::optional<ew::sandbox::HeldCaller> other;
    std::thread([&] { other = ew::sandbox::hold_caller(::gettid()); }).join();
    REQUIRE(other);
    CHECK(other->caller.thread != ::getpid());
    CHECK(other->caller.process == ::getpid());
    CHECK(other->handle);
    const int no_process = 1 << 22; // PID_MAX_LIMIT: no number is as large
    CHECK(!ew::sandbox::hold_caller(no_process));
}

TEST_CASE("only a socket is taken for one") {
    const ew::sandbox::Caller self = {::getpid(), ::getpid()};
    const ew::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const ew::UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));

    CHECK(ew::sandbox::socket_error(self, socket.get()) == 0);
    CHECK(ew::sandbox::socket_error(self, file.get()) == ENOTSOCK);
    CHECK(ew::sandbox::socket_error(self, 1 << 20) == EBADF);
}
