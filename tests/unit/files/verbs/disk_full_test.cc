// Files on a disk that is full, in a mount namespace of a child's own.
#include "files/wire.h"
#include "support/child_process.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/files/verbs/carried_out.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

using namespace ew;
using namespace ew::files;
using test::carried_out;
using test::Outcome;
using test::request_for;

namespace {

constexpr std::size_t disk = 1 << 20;

bool mount_disk(const std::string& place) {
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("tmpfs", place.c_str(), "tmpfs", 0, "size=1m") == 0;
}

bool can_mount() {
    const test::TempDirectory directory;
    return test::in_child([&] { return mount_disk(directory.path()); }).is_true;
}

// In a child, with a disk of its own at the directory.
bool with_disk(const std::function<bool(const test::TempDirectory&)>& function) {
    const test::TempDirectory directory;
    return test::in_child([&] { return mount_disk(directory.path()) && function(directory); })
        .is_true;
}

Outcome written(const std::string& path, std::string data) {
    Request request = request_for(Verb::write_file, path);
    request.data = std::move(data);
    return carried_out(request);
}

bool holds_only(const test::TempDirectory& directory, std::ptrdiff_t count) {
    const std::filesystem::directory_iterator begin(directory.path());
    return std::distance(begin, {}) == count;
}

} // namespace

TEST_CASE("on a full disk the old content stays, and nothing beside it") {
    if (!can_mount()) return;
    CHECK(with_disk([](const test::TempDirectory& directory) {
        directory.write("file", "old");
        const Outcome outcome = written(directory.path("file"), std::string(2 * disk, 'x'));
        const Outcome made = written(directory.path("new"), std::string(2 * disk, 'x'));
        return outcome.failed_as(Trouble::no_space) && made.failed_as(Trouble::no_space) &&
               directory.read("file") == "old" && holds_only(directory, 1) &&
               written(directory.path("file"), std::string(disk / 2, 'x')).message().empty();
    }));
}

TEST_CASE("on a full disk a file with further names keeps its content too") {
    if (!can_mount()) return;
    CHECK(with_disk([](const test::TempDirectory& directory) {
        directory.write("file", "old");
        if (::link(directory.path("file").c_str(), directory.path("other").c_str()) != 0)
            return false;
        const Outcome outcome = written(directory.path("file"), std::string(2 * disk, 'x'));
        return outcome.failed_as(Trouble::no_space) && directory.read("file") == "old" &&
               directory.read("other") == "old" && holds_only(directory, 2);
    }));
}

// The content is in memory then, and the disk is found full at the end.
TEST_CASE("on a full disk a mount point keeps its content, and no room is lost") {
    if (!can_mount()) return;
    CHECK(with_disk([](const test::TempDirectory& directory) {
        directory.write("inner/file", "old");
        const std::string target = directory.write("target", "");
        const std::string source = directory.path("inner/file");
        if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) return false;
        const std::string filler = directory.write("filler", std::string(disk * 3 / 4, 'x'));
        const Outcome outcome = written(target, std::string(disk / 2, 'y'));
        struct stat status = {};
        const bool is_small =
            ::stat(source.c_str(), &status) == 0 && status.st_blocks * 512 <= 8192;
        if (!outcome.failed_as(Trouble::no_space) || directory.read("inner/file") != "old" ||
            !is_small)
            return false;
        return written(target, "new").message().empty() && directory.read("inner/file") == "new";
    }));
}

TEST_CASE("a copy that does not fit leaves what was there") {
    if (!can_mount()) return;
    const test::TempDirectory other;
    const std::string source = other.write("large", std::string(2 * disk, 'x'));
    CHECK(with_disk([&source](const test::TempDirectory& directory) {
        directory.write("file", "old");
        Request request = request_for(Verb::copy, source);
        request.other_path = directory.path("file");
        return carried_out(request).failed_as(Trouble::no_space) &&
               directory.read("file") == "old" && holds_only(directory, 1);
    }));
}

TEST_CASE("where nothing can be written, that is said") {
    if (!can_mount()) return;
    CHECK(with_disk([](const test::TempDirectory& directory) {
        directory.write("file", "old");
        if (::mount(nullptr, directory.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) !=
            0)
            return false;
        Request copy = request_for(Verb::copy, directory.path("file"));
        copy.other_path = directory.path("copy");
        return written(directory.path("file"), "new").failed_as(Trouble::read_only) &&
               written(directory.path("new"), "new").failed_as(Trouble::read_only) &&
               carried_out(request_for(Verb::create_directory, directory.path("made")))
                   .failed_as(Trouble::read_only) &&
               carried_out(request_for(Verb::remove, directory.path("file")))
                   .failed_as(Trouble::read_only) &&
               carried_out(copy).failed_as(Trouble::read_only);
    }));
}
