// The mark is a resource limit of a whole process, so what sets it plays in children.
#include "os/cookie.h"
#include "support/child_process.h"
#include "support/testing.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

using ew::os::Cookies;
using ew::test::in_child;

namespace {

constexpr std::uint64_t top = 1ULL << 60;

bool mark_this_process(std::uint64_t limit) {
    const rlimit value = {limit, limit};
    return ::setrlimit(RLIMIT_RTTIME, &value) == 0;
}

// The serial that is found on a process which carries this limit.
std::optional<std::uint64_t> serial_found(const Cookies& cookies, std::uint64_t limit) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) return std::nullopt;
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(0); // it ended before that
        (void)mark_this_process(limit);        // a missing mark fails the test
        (void)!::write(ends[1], "x", 1);
        for (;;)
            ::pause();
    }
    char ready = 0;
    (void)!::read(ends[0], &ready, 1);
    const std::optional<std::uint64_t> serial = cookies.serial_of(pid);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    return serial;
}

// Marks a process with each serial, and finds it again.
bool finds_again(const Cookies& cookies, std::initializer_list<std::uint64_t> serials) {
    for (const std::uint64_t serial : serials)
        if (serial_found(cookies, *cookies.limit_for(serial)) != serial) return false;
    return true;
}

} // namespace

TEST_SUITE_BEGIN("os/cookie");

TEST_CASE("a process that was marked is found again by its serial") {
    const Cookies cookies = Cookies::for_this_process();

    CHECK(finds_again(cookies, {1, 64, 12'345, (1ULL << 34) - 1}));
}

TEST_CASE("what carries no mark has no serial") {
    const Cookies cookies = Cookies::for_this_process();

    CHECK_FALSE(cookies.serial_of(::getpid()).has_value());
    CHECK_FALSE(cookies.serial_of(0).has_value());
}

TEST_CASE("serials end before marks would run into each other") {
    const Cookies cookies = Cookies::for_this_process();

    CHECK(cookies.limit_for((1ULL << 34) - 1).has_value());
    CHECK_FALSE(cookies.limit_for(1ULL << 34).has_value());
}

TEST_CASE("a server inside a marked program marks too, and its outer one still finds its own") {
    const Cookies outer = Cookies::for_this_process();
    const auto outcome = in_child([&] {
        if (!mark_this_process(*outer.limit_for(70))) return false;
        const Cookies inner = Cookies::for_this_process();
        const std::uint64_t marked_twice = *inner.limit_for(65);
        return serial_found(inner, marked_twice) == 65 && outer.serial_of(::getpid()) == 70;
    });

    CHECK(outcome.is_true);
}

TEST_CASE("the outer server finds what the inner one has marked as its own") {
    const Cookies outer = Cookies::for_this_process();
    const auto outcome = in_child([&] {
        if (!mark_this_process(*outer.limit_for(70))) return false;
        const Cookies inner = Cookies::for_this_process();
        return serial_found(outer, *inner.limit_for(65)) == 70;
    });

    CHECK(outcome.is_true);
}

TEST_CASE("below two servers nothing is marked and nothing is found") {
    const auto outcome = in_child([] {
        const Cookies outer = Cookies::for_this_process();
        if (!mark_this_process(*outer.limit_for(70))) return false;
        const Cookies inner = Cookies::for_this_process();
        if (!mark_this_process(*inner.limit_for(65))) return false;
        const Cookies innermost = Cookies::for_this_process();
        return !innermost.limit_for(64) && !innermost.serial_of(::getpid());
    });

    CHECK(outcome.is_true);
}

TEST_CASE("a limit that someone else has set is left alone") {
    const auto outcome = in_child([] {
        if (!mark_this_process(1'000'000)) return false;
        return !Cookies::for_this_process().limit_for(64).has_value();
    });

    CHECK(outcome.is_true);
}

TEST_CASE("the largest limit is not yet a mark") {
    const auto outcome = in_child([] {
        if (!mark_this_process(top + 1)) return false;
        return !Cookies::for_this_process().limit_for(64).has_value();
    });

    CHECK(outcome.is_true);
}

TEST_SUITE_END();
