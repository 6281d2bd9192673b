#include "sandbox/launch/bubblewrap.h"
#include "sandbox/plan/bubblewrap_arguments.h"
#include "sandbox/plan/plan.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace ew;
using namespace ew::sandbox;

namespace {

Plan with_own_tmp() {
    Plan plan;
    plan.mounts = {{Mount::Kind::private_tmp, "/tmp"}};
    return plan;
}

// Are these words among the arguments, one after the other?
bool says(const std::vector<std::string>& arguments, const std::vector<std::string>& words) {
    return std::search(arguments.begin(), arguments.end(), words.begin(), words.end()) !=
           arguments.end();
}

bool mentions(const std::vector<std::string>& arguments, std::string_view word) {
    return std::ranges::find(arguments, word) != arguments.end();
}

// A machine whose bubblewrap is a file with these options in it.
Machine machine_with(const test::Tree& tree, std::string_view options) {
    Machine machine;
    machine.bubblewrap = tree.file("bwrap", std::string(options));
    machine.takes_size = takes_size(machine.bubblewrap);
    return machine;
}

constexpr std::string_view old_options("\0--perms\0--tmpfs\0", 17);
constexpr std::string_view new_options("\0--perms\0--size\0", 16);

} // namespace

TEST_CASE("what the command has of its own in memory is limited where bubblewrap can do that") {
    const test::Tree tree;

    const auto arguments = bubblewrap_arguments(with_own_tmp(), machine_with(tree, new_options));

    const auto size = std::ranges::find(arguments, "--size");
    REQUIRE(arguments.end() - size > 5);
    CHECK(std::stoull(size[1]) <= std::uint64_t{2} << 30);
    CHECK(std::vector(size + 2, size + 6) ==
          std::vector<std::string>{"--perms", "1777", "--tmpfs", "/tmp"});
}

TEST_CASE("an option that bubblewrap does not know, or refuses when set-user-ID, is left out") {
    const test::Tree tree;
    const Machine older = machine_with(tree, old_options);
    const auto without = bubblewrap_arguments(with_own_tmp(), older);
    Machine privileged = machine_with(tree, new_options);
    REQUIRE(::chmod(privileged.bubblewrap.c_str(), 04755) == 0);
    privileged.takes_size = takes_size(privileged.bubblewrap);

    CHECK_FALSE(mentions(without, "--size"));
    CHECK(says(without, {"--perms", "1777", "--tmpfs", "/tmp"}));
    CHECK_FALSE(mentions(bubblewrap_arguments(with_own_tmp(), privileged), "--size"));
}

TEST_CASE("for root what could be written or not be read in /proc is read-only, but for what is "
          "about processes") {
    Machine machine;
    machine.has_proc = true;
    machine.is_root = true;

    const auto arguments = bubblewrap_arguments({}, machine);

    for (const char* const path : {"/proc/sys", "/proc/bus", "/proc/kmsg"})
        CHECK(says(arguments, {"--ro-bind-try", path, path}));
    for (const char* const path :
         {"/proc/self", "/proc/net", "/proc/mounts", "/proc/1", "/proc/uptime"})
        CHECK_FALSE(mentions(arguments, path));
}
