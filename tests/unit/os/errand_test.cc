#include "os/errand.h"
#include "os/io.h"
#include "support/testing.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

namespace {

using namespace ew;
using os::Errand;

constexpr Millis generous{120'000};

Result<Errand> begin(const std::function<std::string()>& body, std::span<const int> keep = {}) {
    return Errand::begin(body, keep, clock_now() + generous);
}

std::string result_of(Errand& errand) {
    for (;;) {
        if (const auto text = errand.take_result()) return *text;
        pollfd waiting = {errand.fd(), POLLIN, 0};
        if (::poll(&waiting, 1, static_cast<int>(generous.count())) != 1) return "(nothing came)";
    }
}

// As the owner of the loop would.
int reap(pid_t pid) {
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    return status;
}

} // namespace

TEST_CASE("an errand brings back what its body returned") {
    Result<Errand> errand = begin([] { return std::string("found"); });
    REQUIRE(errand);

    CHECK(result_of(*errand) == "found");
    CHECK(reap(errand->pid()) == 0);
}

TEST_CASE("a result is taken without waiting for it") {
    os::Pipe gate = std::move(*os::make_pipe());
    const std::array<int, 1> kept = {gate.read.get()};
    Result<Errand> errand = begin(
        [&gate] {
            char byte = 0;
            (void)!::read(gate.read.get(), &byte, 1);
            return std::string("late");
        },
        kept);
    REQUIRE(errand);

    CHECK(!errand->take_result());
    REQUIRE(::write(gate.write.get(), "x", 1) == 1);

    CHECK(result_of(*errand) == "late");
    reap(errand->pid());
}

TEST_CASE("a result that is too long is cut") {
    Result<Errand> errand = begin([] { return std::string(Errand::longest_result + 100, 'x'); });
    REQUIRE(errand);

    CHECK(result_of(*errand) == std::string(Errand::longest_result, 'x'));
    reap(errand->pid());
}

TEST_CASE("an errand has no descriptors but those it is to keep") {
    const UniqueFd secret(::open("/etc/passwd", O_RDONLY | O_CLOEXEC));
    const UniqueFd wanted(::open("/etc/hostname", O_RDONLY | O_CLOEXEC));
    const UniqueFd other(::open("/etc/passwd", O_RDONLY | O_CLOEXEC));
    const std::array<int, 1> kept = {wanted.get()};
    Result<Errand> errand = begin(
        [] {
            std::string files;
            for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
                files += std::filesystem::read_symlink(entry.path()).string() + " ";
            return files;
        },
        kept);
    REQUIRE(errand);

    const std::string files = result_of(*errand);

    CHECK(files.find("/etc/hostname") != std::string::npos);
    CHECK(files.find("/etc/passwd") == std::string::npos);
    CHECK(files.starts_with("/dev/null /dev/null /dev/null "));
    reap(errand->pid());
}

TEST_CASE("an errand can be interrupted by signals that we hold back") {
    sigset_t held;
    sigset_t before;
    sigemptyset(&held);
    sigaddset(&held, SIGTERM);
    REQUIRE(::sigprocmask(SIG_BLOCK, &held, &before) == 0);
    Result<Errand> errand = begin([] {
        ::raise(SIGTERM);
        return std::string("still there");
    });
    REQUIRE(::sigprocmask(SIG_SETMASK, &before, nullptr) == 0);
    REQUIRE(errand);

    CHECK(result_of(*errand).empty());
    CHECK(WTERMSIG(reap(errand->pid())) == SIGTERM);
}

TEST_CASE("an errand that is let go of is killed") {
    pid_t pid = 0;
    {
        Result<Errand> errand = begin([] {
            for (;;)
                ::pause();
            return std::string();
        });
        REQUIRE(errand);
        pid = errand->pid();
        Errand moved = std::move(*errand);
        CHECK(!moved.take_result());
    }

    CHECK(WTERMSIG(reap(pid)) == SIGKILL);
}

TEST_CASE("killing an errand that was reaped reaches nobody else") {
    Result<Errand> errand = begin([] { return std::string("done"); });
    REQUIRE(errand);
    CHECK(result_of(*errand) == "done");
    reap(errand->pid());

    errand->kill();
    errand->kill();

    CHECK(errand->take_result() == "");
}
