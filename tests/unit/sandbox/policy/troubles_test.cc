#include "sandbox/policy/troubles.h"
#include "support/testing.h"

#include <cerrno>
#include <cstring>
#include <string>

using namespace ew;
using namespace ew::sandbox;

TEST_SUITE_BEGIN("sandbox/policy");

TEST_CASE("a trial without processes or memory says nothing about the machine") {
    for (const int error_number : {EAGAIN, ENOMEM, EMFILE, ENFILE, ETOOMANYREFS}) {
        CHECK(is_exhaustion(error_number));
        Machine machine;
        machine.troubles.push_back(
            {"sandbox", std::string("fork failed: ") + ::strerror(error_number), ""});
        REQUIRE(exhaustion_of_trial(machine));
        CHECK(exhaustion_of_trial(machine)->kind == ErrorKind::sandbox_unavailable);
    }
    for (const int error_number : {EPERM, ENOSYS, ENOSPC, EINVAL}) {
        CHECK_FALSE(is_exhaustion(error_number));
        Machine machine;
        machine.troubles.push_back({"mounts", ::strerror(error_number), ""});
        CHECK_FALSE(exhaustion_of_trial(machine));
    }
    CHECK_FALSE(exhaustion_of_trial(Machine()));
}
