#include "base/unique_fd.h"
#include "support/testing.h"

#include <fcntl.h>

#include <utility>

using ew::UniqueFd;

namespace {

UniqueFd open_something() {
    return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool is_open(int fd) {
    return ::fcntl(fd, F_GETFD) >= 0;
}

} // namespace

TEST_SUITE_BEGIN("base/unique_fd");

TEST_CASE("a descriptor is closed when its owner goes") {
    int number = -1;
    {
        const UniqueFd fd = open_something();
        number = fd.get();
        CHECK(is_open(number));
    }

    CHECK_FALSE(is_open(number));
}

TEST_CASE("moving hands the descriptor over and closes what the target had") {
    UniqueFd from = open_something();
    UniqueFd to = open_something();
    const int kept = from.get();
    const int replaced = to.get();

    to = std::move(from);

    CHECK(to.get() == kept);
    CHECK(is_open(kept));
    CHECK_FALSE(is_open(replaced));
}

TEST_CASE("without a descriptor it is false, also after a reset") {
    UniqueFd fd = open_something();
    CHECK(fd);

    fd.reset();

    CHECK_FALSE(fd);
    CHECK(fd.get() == -1);
}

TEST_SUITE_END();
