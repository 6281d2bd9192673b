#include "sandbox/launch/devices.h"
#include "support/testing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

using namespace ew;
using namespace ew::sandbox;

namespace {

// Returns the result of a child that has guarded the devices: 0 is success, 99 means that it may
// not guard them.
int after_guarding(int (*trial)()) {
    const pid_t child = ::fork();
    if (child == 0) {
        const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        ::dup2(null, 0);
        ::dup2(null, 2);
        ::_exit(guard_devices() && open_stdio_anew() ? trial() : 99);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 99) MESSAGE("no mounts for us on this machine: not tried");
    return WEXITSTATUS(status) == 99 ? 0 : WEXITSTATUS(status);
}

mode_t mode_of(const char* path) {
    struct stat status = {};
    return ::stat(path, &status) == 0 ? status.st_mode & 07777 : 0;
}

bool is_refused(int result) {
    return result != 0 && errno == EROFS;
}

// Returns 0, or the number of the change that was not refused.
int change_modes() {
    if (!is_refused(::chmod("/dev/null", 0666))) return 1;
    if (!is_refused(::fchmod(0, 0666))) return 2;
    if (!is_refused(::fchmod(2, 0666))) return 3;
    return is_refused(::utimensat(AT_FDCWD, "/dev/urandom", nullptr, 0)) ? 0 : 4;
}

// Returns 0, or the number of the operation that failed.
int use_devices() {
    char byte = 1;
    const int null = ::open("/dev/null", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (null < 0 || ::write(null, &byte, 1) != 1) return 1;
    if (::write(2, &byte, 1) != 1 || ::read(0, &byte, 1) != 0) return 2;
    const int random = ::open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    return random >= 0 && ::read(random, &byte, 1) == 1 ? 0 : 3;
}

} // namespace

TEST_CASE("the mode of a guarded device stays, by its name and by an open descriptor") {
    const mode_t before = mode_of("/dev/null");

    CHECK(after_guarding(change_modes) == 0);
    CHECK(mode_of("/dev/null") == before);
}

TEST_CASE("a guarded device works as before") {
    CHECK(after_guarding(use_devices) == 0);
}
