#include "files/replacement.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/files/verbs/carried_out.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>

using namespace ew;
using namespace ew::files;

namespace {

struct stat status_of(const std::string& path) {
    struct stat status = {};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status;
}

std::size_t entries_in(const std::string& directory) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        (void)entry;
        ++count;
    }
    return count;
}

// Of what `path` leads to.
Failure begin_where(const std::string& path, bool follows_links, Replacement& replacement) {
    EntryRef place;
    if (Failure failure = find_end(path, follows_links, place)) return failure;
    return begin_replacement(path, std::move(place), replacement);
}

// Writes `text` to where `path` leads.
Failure replace(const std::string& path, std::string_view text, bool follows_links = true) {
    Replacement replacement;
    if (Failure failure = begin_where(path, follows_links, replacement)) return failure;
    if (Failure failure = write_all(replacement.content.get(), text, path)) return failure;
    return commit(path, replacement);
}

std::string message_of(const Failure& failure) {
    return failure ? failure->message : "";
}

} // namespace

TEST_CASE("a file that is not there is made, and nothing beside it") {
    const test::TempDirectory directory;
    CHECK(message_of(replace(directory.path("new"), "text")).empty());
    CHECK(directory.read("new") == "text");
    CHECK(entries_in(directory.path()) == 1);
}

TEST_CASE("a new file has the mode that the mask leaves") {
    const test::TempDirectory directory;
    const mode_t before = ::umask(027);
    const Failure failure = replace(directory.path("new"), "text");
    ::umask(before);
    CHECK_FALSE(failure.has_value());
    CHECK((status_of(directory.path("new")).st_mode & 07777) == 0640);
}

TEST_CASE("the old content is there until the new one is, which is another file") {
    const test::TempDirectory directory;
    const std::string path = directory.write("file", "old");
    const ino_t old = status_of(path).st_ino;
    Replacement replacement;
    REQUIRE_FALSE(begin_where(path, true, replacement).has_value());
    REQUIRE_FALSE(write_all(replacement.content.get(), "new", path).has_value());
    CHECK(directory.read("file") == "old");
    // Not every file system has files without a name.
    CHECK(entries_in(directory.path()) == (replacement.temporary.empty() ? 1 : 2));
    REQUIRE_FALSE(commit(path, replacement).has_value());
    CHECK(directory.read("file") == "new");
    CHECK(status_of(path).st_ino != old);
    CHECK(entries_in(directory.path()) == 1);
}

TEST_CASE("mode and attributes are kept") {
    const test::TempDirectory directory;
    const std::string path = directory.write("file", "old");
    REQUIRE(::chmod(path.c_str(), 0751) == 0);
    const bool has_attributes = ::setxattr(path.c_str(), "user.note", "kept", 4, 0) == 0;
    REQUIRE_FALSE(replace(path, "new").has_value());
    CHECK((status_of(path).st_mode & 07777) == 0751);
    if (!has_attributes) return; // not on this file system
    std::array<char, 16> value = {};
    CHECK(::getxattr(path.c_str(), "user.note", value.data(), value.size()) == 4);
    CHECK(std::string_view(value.data(), 4) == "kept");
}

// A directory's default list, which every new file in it begins with, may allow more than the old
// file did.
TEST_CASE("a file without an access control list does not get that of its directory") {
    const test::TempDirectory directory;
    const std::string path = directory.write("file", "old");
    REQUIRE(::chmod(path.c_str(), 0660) == 0);

    // acl(5), as in the kernel's posix_acl_xattr.h: user::rwx, user:1234:rwx, group::rwx,
    // mask::rwx, other::---
    struct {
        std::uint32_t version = 2;

        struct {
            std::uint16_t tag;
            std::uint16_t permissions;
            std::uint32_t id;
        } entries[5] = {
            {0x01, 7, ~0U}, {0x02, 7, 1234}, {0x04, 7, ~0U}, {0x10, 7, ~0U}, {0x20, 0, ~0U}};
    } list;

    if (::setxattr(directory.path().c_str(), "system.posix_acl_default", &list, sizeof list, 0) !=
        0)
        return; // not on this file system
    REQUIRE_FALSE(replace(path, "new").has_value());
    CHECK(directory.read("file") == "new");
    CHECK((status_of(path).st_mode & 07777) == 0660);
    CHECK(::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) < 0);
}

TEST_CASE("a file with further names is written in place") {
    const test::TempDirectory directory;
    const std::string path = directory.write("file", "what was there, and longer");
    REQUIRE(::link(path.c_str(), directory.path("other").c_str()) == 0);
    const ino_t old = status_of(path).st_ino;
    REQUIRE_FALSE(replace(path, "new").has_value());
    CHECK(directory.read("file") == "new");
    CHECK(directory.read("other") == "new");
    CHECK(status_of(path).st_ino == old);
    CHECK(entries_in(directory.path()) == 2);
}

TEST_CASE("in place, nothing is changed before the end") {
    const test::TempDirectory directory;
    const std::string path = directory.write("file", "old");
    REQUIRE(::link(path.c_str(), directory.path("other").c_str()) == 0);
    Replacement replacement;
    REQUIRE_FALSE(begin_where(path, true, replacement).has_value());
    REQUIRE_FALSE(write_all(replacement.content.get(), "new content", path).has_value());
    CHECK(directory.read("other") == "old");
    REQUIRE_FALSE(commit(path, replacement).has_value());
    CHECK(directory.read("other") == "new content");
}

TEST_CASE("a link is followed, and stays") {
    const test::TempDirectory directory;
    directory.write("real/file", "old");
    REQUIRE(::symlink("real/file", directory.path("link").c_str()) == 0);
    REQUIRE(::symlink("link", directory.path("second").c_str()) == 0);
    REQUIRE_FALSE(replace(directory.path("second"), "new").has_value());
    CHECK(directory.read("real/file") == "new");
    CHECK(S_ISLNK(status_of(directory.path("link")).st_mode));
    CHECK(S_ISLNK(status_of(directory.path("second")).st_mode));
    CHECK(entries_in(directory.path("real")) == 1);
}

TEST_CASE("a link that leads nowhere gets what it leads to") {
    const test::TempDirectory directory;
    REQUIRE(::symlink("missing", directory.path("link").c_str()) == 0);
    REQUIRE_FALSE(replace(directory.path("link"), "new").has_value());
    CHECK(directory.read("missing") == "new");
    CHECK(S_ISLNK(status_of(directory.path("link")).st_mode));
}

TEST_CASE("links in a circle are an error") {
    const test::TempDirectory directory;
    REQUIRE(::symlink("b", directory.path("a").c_str()) == 0);
    REQUIRE(::symlink("a", directory.path("b").c_str()) == 0);
    CHECK(replace(directory.path("a"), "new").has_value());
    CHECK(entries_in(directory.path()) == 2);
}

TEST_CASE("a link is refused where none may be, at the end or before") {
    const test::TempDirectory directory;
    directory.write("real/file", "old");
    REQUIRE(::symlink("real", directory.path("link").c_str()) == 0);
    REQUIRE(::symlink("real/file", directory.path("end").c_str()) == 0);
    for (const char* const name : {"link/file", "end"}) {
        const Failure failure = replace(directory.path(name), "new", false);
        REQUIRE(failure.has_value());
        CHECK(failure->trouble == Trouble::wrong_kind);
    }
    CHECK(directory.read("real/file") == "old");
    CHECK_FALSE(replace(directory.path("real/file"), "new", false).has_value());
}

TEST_CASE("a link of that name is itself replaced where the name is meant") {
    const test::TempDirectory directory;
    const std::string target = directory.write("target", "old");
    REQUIRE(::symlink("target", directory.path("link").c_str()) == 0);
    Replacement replacement;
    EntryRef place = {UniqueFd(::open(directory.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
                      "link"};
    REQUIRE_FALSE(
        begin_replacement(directory.path("link"), std::move(place), replacement).has_value());
    REQUIRE_FALSE(write_all(replacement.content.get(), "new", "link").has_value());
    REQUIRE_FALSE(commit(directory.path("link"), replacement).has_value());
    CHECK(S_ISREG(status_of(directory.path("link")).st_mode));
    CHECK(directory.read("link") == "new");
    CHECK(directory.read("target") == "old");
    CHECK(entries_in(directory.path()) == 2);
}

TEST_CASE("what is no regular file is not replaced") {
    const test::TempDirectory directory;
    directory.make("directory");
    REQUIRE(::mkfifo(directory.path("pipe").c_str(), 0600) == 0);
    for (const char* const name : {"directory", "pipe"}) {
        const Failure failure = replace(directory.path(name), "new");
        REQUIRE(failure.has_value());
        CHECK(failure->trouble == Trouble::wrong_kind);
    }
    // One that somebody reads could be opened.
    const UniqueFd reader(
        ::open(directory.path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const Failure failure = replace(directory.path("pipe"), "new");
    REQUIRE(failure.has_value());
    CHECK(failure->trouble == Trouble::wrong_kind);
    CHECK(S_ISFIFO(status_of(directory.path("pipe")).st_mode));
}

TEST_CASE("without the directory there is nothing to make") {
    const test::TempDirectory directory;
    directory.write("file", "text");
    const Failure missing = replace(directory.path("missing/file"), "new");
    REQUIRE(missing.has_value());
    CHECK(missing->trouble == Trouble::not_found);
    CHECK(missing->message.starts_with(directory.path("missing/file")));
    CHECK(replace(directory.path("file/inner"), "new").has_value());
    CHECK(directory.read("file") == "text");
}

TEST_CASE("what cannot be put in place leaves the old, and nothing beside it") {
    const test::TempDirectory directory;
    const std::string path = directory.path("name");
    Replacement replacement;
    REQUIRE_FALSE(begin_where(path, true, replacement).has_value());
    REQUIRE_FALSE(write_all(replacement.content.get(), "new", path).has_value());
    directory.write("name/inner", "old"); // a directory has taken the name
    const Failure failure = commit(path, replacement);
    REQUIRE(failure.has_value());
    CHECK(failure->trouble == Trouble::wrong_kind);
    CHECK(directory.read("name/inner") == "old");
    CHECK(entries_in(directory.path()) == 1);
}

TEST_CASE("what is given up leaves the old, and nothing beside it") {
    const test::TempDirectory directory;
    const std::string path = directory.write("file", "old");
    {
        Replacement replacement;
        REQUIRE_FALSE(begin_where(path, true, replacement).has_value());
        REQUIRE_FALSE(write_all(replacement.content.get(), "new", path).has_value());
        give_up(replacement);
    }
    CHECK(directory.read("file") == "old");
    CHECK(entries_in(directory.path()) == 1);
}

TEST_CASE("a temporary name is gone after the end, however that went") {
    const test::TempDirectory directory;
    const std::string path = directory.write("file", "old");
    for (const bool is_committed : {true, false}) {
        Replacement replacement;
        const int flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC;
        replacement.content = UniqueFd(::open(directory.path("temporary").c_str(), flags, 0600));
        replacement.beside =
            UniqueFd(::open(directory.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        replacement.name = "file";
        replacement.temporary = "temporary";
        REQUIRE_FALSE(write_all(replacement.content.get(), "new", path).has_value());
        if (is_committed)
            CHECK_FALSE(commit(path, replacement).has_value());
        else
            give_up(replacement);
        CHECK(directory.read("file") == "new");
        CHECK(entries_in(directory.path()) == 1);
    }
}

TEST_CASE("a file whose directory was renamed meanwhile is written where it is") {
    const test::TempDirectory directory;
    const std::string path = directory.write("before/file", "old");
    Replacement replacement;
    REQUIRE_FALSE(begin_where(path, true, replacement).has_value());
    REQUIRE_FALSE(write_all(replacement.content.get(), "new", path).has_value());
    REQUIRE(::rename(directory.path("before").c_str(), directory.path("after").c_str()) == 0);
    directory.write("before/file", "another");
    REQUIRE_FALSE(commit(path, replacement).has_value());
    CHECK(directory.read("after/file") == "new");
    CHECK(directory.read("before/file") == "another");
}

TEST_CASE("an open replacement is put in place by what it was told") {
    const test::TempDirectory directory;
    const std::string path = directory.write("file", "old");
    const test::Outcome opened = test::carried_out(test::request_for(Verb::open_replace, path));
    REQUIRE(opened.message().empty());
    REQUIRE(opened.descriptors.size() == 2);
    Request block = test::request_for(Verb::write_block, "");
    block.data = "def";
    block.offset = 3;
    REQUIRE(test::carried_out(block, {opened.descriptors[0].get()}).message().empty());
    block.data = "abc";
    block.offset = 0;
    REQUIRE(test::carried_out(block, {opened.descriptors[0].get()}).message().empty());
    CHECK(directory.read("file") == "old");
    const test::Outcome closed =
        test::carried_out(test::request_for(Verb::commit, opened.done->path),
                          {opened.descriptors[0].get(), opened.descriptors[1].get()});
    CHECK(closed.message().empty());
    CHECK(directory.read("file") == "abcdef");
    CHECK(entries_in(directory.path()) == 1);
}

TEST_CASE("an open replacement that is not put in place leaves nothing") {
    const test::TempDirectory directory;
    const std::string path = directory.write("file", "old");
    test::Outcome opened = test::carried_out(test::request_for(Verb::open_replace, path));
    REQUIRE(opened.message().empty());
    opened.descriptors.clear();
    CHECK(directory.read("file") == "old");
    CHECK(entries_in(directory.path()) == 1);
}
