#include "files/entry_ref.h"
#include "files/wire.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/files/verbs/carried_out.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

using namespace ew;
using namespace ew::files;

namespace {

bool is_directory_at(const EntryRef& place, const std::string& path) {
    struct stat got = {};
    struct stat wanted = {};
    return ::fstat(place.directory.get(), &got) == 0 && ::stat(path.c_str(), &wanted) == 0 &&
           got.st_dev == wanted.st_dev && got.st_ino == wanted.st_ino;
}

} // namespace

TEST_CASE("a place is the directory and the name in it") {
    const test::TempDirectory directory;
    EntryRef place;
    REQUIRE_FALSE(find_entry(directory.path("missing"), true, place).has_value());
    CHECK(place.name == "missing");
    CHECK(is_directory_at(place, directory.path()));
    REQUIRE_FALSE(find_entry("/name", true, place).has_value());
    CHECK(place.name == "name");
    CHECK(is_directory_at(place, "/"));
    REQUIRE_FALSE(find_entry("/", true, place).has_value());
    CHECK(place.name == ".");
    CHECK(is_directory_at(place, "/"));
}

TEST_CASE("the end of links is where the last of them leads") {
    const test::TempDirectory directory;
    directory.make("inner");
    REQUIRE(::symlink("inner/second", directory.path("first").c_str()) == 0);
    REQUIRE(::symlink("../missing", directory.path("inner/second").c_str()) == 0);
    REQUIRE(::symlink(directory.path("first").c_str(), directory.path("absolute").c_str()) == 0);
    for (const char* const name : {"first", "absolute"}) {
        EntryRef place;
        REQUIRE_FALSE(find_end(directory.path(name), true, place).has_value());
        CHECK(place.name == "missing");
        CHECK(is_directory_at(place, directory.path()));
    }
    EntryRef place;
    REQUIRE_FALSE(find_entry(directory.path("first"), true, place).has_value());
    CHECK(place.name == "first"); // the link itself
}

TEST_CASE("without links, one in the middle is told apart from one at the end") {
    const test::TempDirectory directory;
    directory.write("real/file", "");
    REQUIRE(::symlink("real", directory.path("link").c_str()) == 0);
    EntryRef place;
    Failure failure = find_entry(directory.path("link/file"), false, place);
    REQUIRE(failure.has_value());
    CHECK(failure->trouble == Trouble::wrong_kind);
    CHECK_FALSE(find_entry(directory.path("link"), false, place).has_value());
    failure = find_end(directory.path("link"), false, place);
    REQUIRE(failure.has_value());
    CHECK(failure->trouble == Trouble::wrong_kind);
}

TEST_CASE("a chain of links has an end, forty long as the kernel has it") {
    const test::TempDirectory directory;
    for (int i = 0; i < 41; ++i)
        REQUIRE(::symlink(std::to_string(i + 1).c_str(),
                          directory.path(std::to_string(i)).c_str()) == 0);
    EntryRef place;
    CHECK_FALSE(find_end(directory.path("1"), true, place).has_value());
    CHECK(find_end(directory.path("0"), true, place).has_value());
}

TEST_CASE("a link of somebody else in a directory that all may write to is not followed") {
    if (::geteuid() != 0) {
        MESSAGE("only root can make such a link: not tried");
        return;
    }
    const test::TempDirectory directory;
    const std::string link = directory.path("link");
    REQUIRE(::symlink("target", link.c_str()) == 0);
    REQUIRE(::lchown(link.c_str(), 65534, 65534) == 0);
    EntryRef place;

    REQUIRE(::chmod(directory.path().c_str(), 01777) == 0);
    const Failure refused = find_end(link, true, place);
    REQUIRE(::chmod(directory.path().c_str(), 0755) == 0);
    const Failure followed = find_end(link, true, place);

    REQUIRE(refused.has_value());
    CHECK(refused->trouble == Trouble::permission);
    CHECK_FALSE(followed.has_value());
}

TEST_CASE("opening does not wait for the other end of a pipe") {
    const test::TempDirectory directory;
    REQUIRE(::mkfifo(directory.path("pipe").c_str(), 0600) == 0);
    test::Outcome outcome =
        test::carried_out(test::request_for(Verb::read_file, directory.path("pipe")));
    CHECK(outcome.failed_as(Trouble::wrong_kind));
    outcome = test::carried_out(test::request_for(Verb::open, directory.path("pipe")));
    CHECK(outcome.failed_as(Trouble::wrong_kind));
    CHECK(outcome.descriptors.empty());
}

TEST_CASE("a missing path is watched where it would have to appear") {
    const test::TempDirectory directory;
    const UniqueFd inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    Request request = test::request_for(Verb::watch_missing, "");
    request.paths = {directory.path("a/b"), directory.path("c")};
    const test::Outcome outcome = test::carried_out(request, {inotify.get()});
    REQUIRE(outcome.message().empty());
    CHECK_FALSE(outcome.done->exists);
    bool has_first = false;
    bool has_second = false;
    for (const WatchedPlace& place : outcome.done->places) {
        has_first = has_first || place.name == "a";
        has_second = has_second || place.name == "c";
    }
    CHECK(has_first);
    CHECK(has_second);
    directory.write("c", "");
    CHECK(test::carried_out(request, {inotify.get()}).done->exists);
}

// As many, and as long, as a watch may have.
TEST_CASE("the places of the largest watch are told") {
    const test::TempDirectory directory;
    const UniqueFd inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    Request request = test::request_for(Verb::watch_missing, "");
    for (std::uint64_t i = 0; i < most_missing; ++i) {
        std::string name = std::to_string(i);
        name.resize(255, 'x');
        request.paths.push_back(directory.path(name));
    }
    const test::Outcome outcome = test::carried_out(request, {inotify.get()});
    CHECK_FALSE(outcome.is_garbage);
    REQUIRE(outcome.done.has_value());
    CHECK(outcome.done->places.size() >= most_missing);
}
