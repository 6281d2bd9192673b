#include "files/wire.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/files/verbs/carried_out.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

using namespace ew;
using namespace ew::files;
using test::carried_out;
using test::Outcome;
using test::request_for;

namespace {

bool is_there(const std::string& path) {
    struct stat status = {};
    return ::lstat(path.c_str(), &status) == 0;
}

unsigned mode_of(const std::string& path) {
    struct stat status = {};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status.st_mode & 07777;
}

Outcome removed(const std::string& path, bool recursive = true, bool force = true) {
    Request request = request_for(Verb::remove, path);
    request.recursive = recursive;
    request.force = force;
    return carried_out(request);
}

Outcome copied(const std::string& from, const std::string& to, bool recursive = true) {
    Request request = request_for(Verb::copy, from);
    request.other_path = to;
    request.recursive = recursive;
    return carried_out(request);
}

Outcome made(const std::string& path, bool recursive = true, bool follows_links = true) {
    Request request = request_for(Verb::create_directory, path);
    request.recursive = recursive;
    request.follows_links = follows_links;
    return carried_out(request);
}

// Directories in one another, deeper than any path can say.
void make_deep(const std::string& top, int depth) {
    REQUIRE(::mkdir(top.c_str(), 0700) == 0);
    UniqueFd at(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < depth; ++i) {
        REQUIRE(::mkdirat(at.get(), "deeper", 0700) == 0);
        UniqueFd next(::openat(at.get(), "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        REQUIRE(next.get() >= 0);
        at = std::move(next);
    }
}

} // namespace

TEST_CASE("nothing is removed by the name of its inside") {
    const test::TempDirectory directory;
    directory.write("d/in/file", "x");
    for (const char* const name : {"d/in/..", "d/in/.", "d/in/../in/.."}) {
        Request request;
        request.verb = Verb::remove;
        request.path = directory.path(name);
        request.recursive = request.force = true;

        CHECK(carried_out(request).failed.has_value());
    }
    CHECK(::access(directory.path("d/in/file").c_str(), F_OK) == 0);
}

TEST_CASE("directories are made with their parents") {
    const test::TempDirectory directory;
    CHECK(made(directory.path("a/b/c")).message().empty());
    CHECK(std::filesystem::is_directory(directory.path("a/b/c")));
    CHECK(made(directory.path("a/b/c")).message().empty()); // it is there
    CHECK_FALSE(made(directory.path("a/b/c"), false).message().empty());
    CHECK(made(directory.path("x/y"), false).failed_as(Trouble::not_found));
    CHECK_FALSE(is_there(directory.path("x")));
    CHECK(made("/").message().empty());
}

TEST_CASE("a file or a link that leads nowhere is no directory") {
    const test::TempDirectory directory;
    directory.write("file", "text");
    REQUIRE(::symlink("missing", directory.path("link").c_str()) == 0);
    for (const char* const name : {"file", "file/inner", "link", "link/inner"})
        CHECK_FALSE(made(directory.path(name)).message().empty());
    CHECK_FALSE(is_there(directory.path("missing")));
    CHECK(directory.read("file") == "text");
}

TEST_CASE("a link to a directory is one, unless links are refused") {
    const test::TempDirectory directory;
    directory.make("real");
    REQUIRE(::symlink("real", directory.path("link").c_str()) == 0);
    CHECK(made(directory.path("link/a")).message().empty());
    CHECK(is_there(directory.path("real/a")));
    CHECK(made(directory.path("link/b"), true, false).failed_as(Trouble::wrong_kind));
    CHECK(made(directory.path("link"), true, false).failed_as(Trouble::wrong_kind));
    CHECK_FALSE(is_there(directory.path("real/b")));
}

TEST_CASE("a tree is removed, and what its links lead to stays") {
    const test::TempDirectory directory;
    const std::string outside = directory.write("outside/file", "kept");
    directory.write("tree/a/b/file", "text");
    directory.write("tree/file", "text");
    directory.make("tree/empty");
    REQUIRE(::symlink("../outside", directory.path("tree/link").c_str()) == 0);
    REQUIRE(::symlink(outside.c_str(), directory.path("tree/a/link").c_str()) == 0);
    REQUIRE(::mkfifo(directory.path("tree/pipe").c_str(), 0600) == 0);
    CHECK(removed(directory.path("tree")).message().empty());
    CHECK_FALSE(is_there(directory.path("tree")));
    CHECK(directory.read("outside/file") == "kept");
}

TEST_CASE("a link to a tree is removed, not the tree") {
    const test::TempDirectory directory;
    directory.write("real/file", "kept");
    REQUIRE(::symlink("real", directory.path("link").c_str()) == 0);
    CHECK(removed(directory.path("link")).message().empty());
    CHECK_FALSE(is_there(directory.path("link")));
    CHECK(directory.read("real/file") == "kept");
}

TEST_CASE("what is missing is fine by force alone") {
    const test::TempDirectory directory;
    CHECK(removed(directory.path("missing")).message().empty());
    CHECK(removed(directory.path("missing/inner")).message().empty());
    CHECK(removed(directory.path("missing"), true, false).failed_as(Trouble::not_found));
}

TEST_CASE("only an empty directory is removed without recursion") {
    const test::TempDirectory directory;
    directory.write("full/file", "kept");
    directory.make("empty");
    CHECK_FALSE(removed(directory.path("full"), false).message().empty());
    CHECK(directory.read("full/file") == "kept");
    CHECK(removed(directory.path("empty"), false).message().empty());
    CHECK_FALSE(is_there(directory.path("empty")));
}

TEST_CASE("the root is not removed") {
    CHECK(removed("/").failed_as(Trouble::wrong_kind));
}

TEST_CASE("a tree deeper than any path is removed") {
    const test::TempDirectory directory;
    make_deep(directory.path("deep"), 5000);
    CHECK(removed(directory.path("deep")).message().empty());
    CHECK_FALSE(is_there(directory.path("deep")));
}

// Somebody exchanges a directory for a link to another, again and again: what is not below the tree
// is not touched.
TEST_CASE("nothing outside is removed while names are exchanged") {
    const test::TempDirectory directory;
    directory.write("outside/file", "kept");
    REQUIRE(::symlink("../outside", directory.path("link").c_str()) == 0);
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 20; ++i)
            directory.write("tree/d" + std::to_string(i) + "/file", "text");
        std::atomic<bool> is_over = false;
        std::thread other([&] {
            for (int i = 0; !is_over; i = (i + 1) % 20) {
                const std::string name = directory.path("tree/d" + std::to_string(i));
                (void)::rename(name.c_str(), (name + "-away").c_str());
                (void)::symlink("../outside", name.c_str());
            }
        });
        (void)removed(directory.path("tree")); // it may fail: somebody puts things there
        is_over = true;
        other.join();
        REQUIRE(directory.read("outside/file") == "kept");
        (void)removed(directory.path("tree"));
    }
}

// What somebody else removes meanwhile is no reason to leave the rest and call it done.
TEST_CASE("a tree is gone when its removal is done, though another removes it too") {
    const test::TempDirectory directory;
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 40; ++i)
            for (int j = 0; j < 5; ++j)
                directory.write("tree/d" + std::to_string(i) + "/e/f" + std::to_string(j), "");
        std::thread other([&directory] {
            std::error_code ignored;
            std::filesystem::remove_all(directory.path("tree"), ignored);
        });
        const Outcome outcome = removed(directory.path("tree"));
        const bool is_left = is_there(directory.path("tree"));
        other.join();
        CAPTURE(round);
        CHECK(outcome.message() == "");
        CHECK_FALSE(is_left);
        (void)removed(directory.path("tree"));
    }
}

TEST_CASE("a tree is copied with modes, and links stay links") {
    const test::TempDirectory directory;
    directory.write("from/a/file", "text");
    directory.write("from/tool", "run");
    directory.make("from/closed");
    REQUIRE(::chmod(directory.path("from/tool").c_str(), 0755) == 0);
    REQUIRE(::chmod(directory.path("from/closed").c_str(), 0500) == 0);
    REQUIRE(::symlink("missing", directory.path("from/link").c_str()) == 0);
    CHECK(copied(directory.path("from"), directory.path("to")).message().empty());
    CHECK(directory.read("to/a/file") == "text");
    CHECK(mode_of(directory.path("to/tool")) == 0755);
    CHECK(mode_of(directory.path("to/closed")) == 0500);
    CHECK(std::filesystem::read_symlink(directory.path("to/link")) == "missing");
}

TEST_CASE("a directory is copied by recursion alone, and never into itself") {
    const test::TempDirectory directory;
    directory.write("from/a/file", "text");
    CHECK(
        copied(directory.path("from"), directory.path("to"), false).failed_as(Trouble::wrong_kind));
    for (const char* const name : {"from", "from/inner", "from/a", "from/a/b"})
        CHECK(copied(directory.path("from"), directory.path(name)).failed_as(Trouble::wrong_kind));
    REQUIRE(::symlink("from/a", directory.path("link").c_str()) == 0);
    CHECK(copied(directory.path("from"), directory.path("link/inner"))
              .failed_as(Trouble::wrong_kind));
    CHECK_FALSE(is_there(directory.path("to")));
    CHECK_FALSE(is_there(directory.path("from/a/inner")));
}

TEST_CASE("links in the tree that is written to lead nowhere else") {
    const test::TempDirectory directory;
    directory.write("outside/file", "kept");
    directory.write("from/sub/file", "new");
    directory.write("from/file", "new");
    directory.make("to");
    REQUIRE(::symlink("../outside", directory.path("to/sub").c_str()) == 0);
    REQUIRE(::symlink("../outside/file", directory.path("to/file").c_str()) == 0);
    (void)copied(directory.path("from"), directory.path("to"));
    CHECK(directory.read("outside/file") == "kept");
}

TEST_CASE("a file is not copied onto itself, by whatever name") {
    const test::TempDirectory directory;
    const std::string path = directory.write("file", "text");
    REQUIRE(::link(path.c_str(), directory.path("other").c_str()) == 0);
    REQUIRE(::symlink("file", directory.path("link").c_str()) == 0);
    for (const char* const name : {"file", "other", "link"})
        CHECK(copied(path, directory.path(name)).failed_as(Trouble::wrong_kind));
    CHECK(directory.read("file") == "text");
}

TEST_CASE("files of /proc, which seem empty, are copied whole") {
    const test::TempDirectory directory;
    CHECK(copied("/proc/version", directory.path("to")).message().empty());
    CHECK_FALSE(directory.read("to").empty());
}
