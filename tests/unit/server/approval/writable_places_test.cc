#include "server/approval/writable_places.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

using ew::server::stays_inside;
using ew::server::WritablePlaces;
using ew::test::TempDirectory;

TEST_SUITE_BEGIN("server/approval/writable_places");

TEST_CASE("a place is kept once, and with it all that is below") {
    WritablePlaces places;
    places.add({"/work", "/opt/bin"});
    places.add({"/work/bin", "/opt/bin", "/work2"});

    CHECK(places.paths() == std::vector<std::string>{"/work", "/opt/bin", "/work2"});
}

TEST_CASE("too many places are the whole file system") {
    WritablePlaces places;
    for (std::size_t i = 0; i < WritablePlaces::most; ++i)
        places.add({"/place/" + std::to_string(i)});
    CHECK(places.paths().size() == WritablePlaces::most);

    places.add({"/one/more", "/and/another"});
    CHECK(places.paths() == std::vector<std::string>{"/"});
}

TEST_CASE("a directory is in the workspace only if it is for every process") {
    const TempDirectory work;
    (void)work.make("inner");
    REQUIRE(::symlink("/proc/self/root", work.path("root").c_str()) == 0);
    REQUIRE(::symlink("/", work.path("away").c_str()) == 0);
    const auto stays = stays_inside({work.path()});

    CHECK(stays(work.path()));
    CHECK(stays(work.path("inner")));
    CHECK(stays(work.path("away") + work.path("inner")));
    CHECK_FALSE(stays(work.path("away")));
    CHECK_FALSE(stays(work.path("missing")));
    CHECK_FALSE(stays("/proc/self/root" + work.path("inner")));
    CHECK_FALSE(stays("/dev/fd/../root" + work.path("inner")));
    CHECK_FALSE(stays(work.path("root") + work.path("inner")));
}
