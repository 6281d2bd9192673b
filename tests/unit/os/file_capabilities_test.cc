#include "os/file_capabilities.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ew;
using namespace ew::os;

namespace {

bool can_look_into(const std::string& directory) {
    struct stat status = {};
    return ::stat((directory + "/x").c_str(), &status) == 0;
}

// 0, or which step went wrong.
int look_with_and_without(const std::string& directory) {
    if (!can_look_into(directory)) return 1;
    if (!set_file_capabilities(false) || can_look_into(directory)) return 2;
    if (!has_file_capabilities()) return 3;
    return set_file_capabilities(true) && can_look_into(directory) ? 0 : 4;
}

} // namespace

TEST_CASE("without its capabilities root cannot look into what others have closed, and with them "
          "it can again") {
    const test::Tree tree;
    const std::string closed = tree.directory("closed");
    tree.file("closed/x");
    if (!has_file_capabilities() || ::chown(closed.c_str(), 1000, 1000) != 0) {
        MESSAGE("not root: not tried");
        return;
    }
    REQUIRE(::chmod(closed.c_str(), 0700) == 0);

    const pid_t child = ::fork();
    if (child == 0) ::_exit(look_with_and_without(closed));
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}
