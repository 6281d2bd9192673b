#include "store/files.h"
#include "support/child_process.h"
#include "unit/store/scratch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

using namespace ew::test;
using ew::store::GrantScope;
using ew::store::Store;

namespace fs = std::filesystem;

namespace {

mode_t mode_of(const std::string& path) {
    struct stat is = {};
    return ::lstat(path.c_str(), &is) == 0 ? is.st_mode & 07777 : 0;
}

// The message with which a store is refused; empty: it was opened.
std::string refusal(const std::string& path) {
    auto opened = Store::open(path, noon);
    if (opened) return {};
    CHECK(opened.error().kind == ew::ErrorKind::store_unavailable);
    CHECK_FALSE(opened.error().hint.empty());
    CHECK(opened.error().message.find(path) != std::string::npos);
    return opened.error().message + "; " + opened.error().hint;
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("directories and files are made for this user alone, whatever the umask") {
    const Scratch scratch;
    const mode_t before = ::umask(0);

    const auto store = open_store(scratch.path("state/execward/execward.db"));
    keep(*store, grant(GrantScope::always, "make"));
    ::umask(before);

    CHECK(mode_of(scratch.path("state")) == 0700);
    CHECK(mode_of(scratch.path("state/execward")) == 0700);
    for (const char* ending : {"", "-wal", "-shm"})
        CHECK(mode_of(scratch.path("state/execward/execward.db") + ending) == 0600);
}

TEST_CASE("a file that others could read is taken from their sight") {
    const Scratch scratch;
    open_store(scratch.path());
    ::chmod(scratch.path().c_str(), 0644);

    open_store(scratch.path());

    CHECK(mode_of(scratch.path()) == 0600);
}

TEST_CASE("a file that others could write to is refused, with the command that helps") {
    const Scratch scratch;
    open_store(scratch.path());
    ::chmod(scratch.path().c_str(), 0620);

    const std::string why = refusal(scratch.path());

    CHECK(says(why, "others can write to"));
    CHECK(says(why, "chmod go-w '" + scratch.path() + "'"));
    CHECK(mode_of(scratch.path()) == 0620);
}

TEST_CASE("a directory that others can write to is refused, with the command that helps") {
    const Scratch scratch;
    for (const mode_t mode : {0770U, 0702U, 01777U}) {
        ::chmod(scratch.directory().c_str(), mode);
        CHECK(says(refusal(scratch.path()), "chmod go-w '" + scratch.directory() + "'"));
    }
    CHECK_FALSE(fs::exists(scratch.path()));
}

TEST_CASE("a write-ahead log that others could write to is refused") {
    const Scratch scratch;
    open_store(scratch.path());
    std::ofstream(scratch.path() + "-wal") << "forged";
    ::chmod((scratch.path() + "-wal").c_str(), 0666);

    CHECK(says(refusal(scratch.path()), "-wal"));
}

TEST_CASE("a file or directory of another user is refused") {
    if (::geteuid() != 0) return; // nobody else can give files away
    constexpr uid_t another = 65534;
    const Scratch scratch;
    open_store(scratch.path());

    REQUIRE(::chown(scratch.path().c_str(), another, 0) == 0);
    CHECK(says(refusal(scratch.path()), "belongs to user 65534, not to you (user 0)"));
    REQUIRE(::chown(scratch.path().c_str(), 0, 0) == 0);
    REQUIRE(::chown(scratch.directory().c_str(), another, 0) == 0);
    CHECK(says(refusal(scratch.path()), scratch.directory() + " belongs to user"));
}

TEST_CASE("a symbolic link in the file's place is refused; in the directory's it is followed") {
    const Scratch scratch;
    fs::create_directory(scratch.path("real"));
    ::chmod(scratch.path("real").c_str(), 0700);
    fs::create_symlink(scratch.path("real"), scratch.path("directory"));
    fs::create_symlink(scratch.path("real/x.db"), scratch.path("link.db"));

    CHECK(says(refusal(scratch.path("link.db")), "a symbolic link"));
    CHECK_FALSE(fs::exists(scratch.path("real/x.db")));
    CHECK(refusal(scratch.path("directory/x.db")).empty());
}

TEST_CASE("a file with another name is refused: somebody might write it under that name") {
    const Scratch scratch;
    open_store(scratch.path());
    fs::create_hard_link(scratch.path(), scratch.path("other"));
    CHECK(says(refusal(scratch.path()), "has 2 names (hard links)"));
    fs::remove(scratch.path("other"));
    CHECK(refusal(scratch.path()).empty());
}

TEST_CASE("what is no file is refused") {
    const Scratch scratch;
    fs::create_directory(scratch.path("d.db"));
    REQUIRE(::mkfifo(scratch.path("f.db").c_str(), 0600) == 0);

    CHECK(says(refusal(scratch.path("d.db")), "no regular file"));
    CHECK(says(refusal(scratch.path("f.db")), "no regular file"));
    CHECK(says(refusal(scratch.path("f.db/x.db")), "Not a directory"));
}

TEST_CASE("companions of a database that is gone do not become part of the new one") {
    const Scratch scratch;
    std::ofstream(scratch.path() + "-wal") << std::string(5000, 'w');
    std::ofstream(scratch.path() + "-journal") << std::string(5000, 'j');

    open_store(scratch.path());

    CHECK_FALSE(fs::exists(scratch.path() + "-journal"));
}

TEST_CASE("a process that is opening the database for too long is not waited for any longer") {
    const Scratch scratch;
    const ew::UniqueFd held(
        ::open(scratch.directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::flock(held.get(), LOCK_EX) == 0);

    const ew::TimePoint before = ew::clock_now();
    CHECK(says(refusal(scratch.path()), "opening it for too long")); // while that goes on

    CHECK(ew::clock_now() - before >= ew::store::Database::patience);
}

TEST_CASE("a file and a directory that this user may not write to are refused") {
    if (::geteuid() != 0) return; // permissions do not hold root back: the child is another user
    const Scratch scratch;
    const std::string directory = scratch.path("d");
    constexpr uid_t another = 65534;
    ::chmod(scratch.directory().c_str(), 0755);
    fs::create_directory(directory);
    REQUIRE(::chown(directory.c_str(), another, another) == 0);
    const auto as_another = [&](auto scene) {
        const ChildOutcome outcome =
            in_child([&] { return ::setgid(another) == 0 && ::setuid(another) == 0 && scene(); });
        CHECK_MESSAGE(outcome.is_true, outcome.errors);
    };
    ::chmod(directory.c_str(), 0700);
    as_another([&] { return refusal(directory + "/x.db").empty(); });

    ::chmod((directory + "/x.db").c_str(), 0400);
    as_another([&] { return says(refusal(directory + "/x.db"), "writable for you"); });
    ::chmod((directory + "/x.db").c_str(), 0600);
    ::chmod(directory.c_str(), 0500);
    as_another([&] { return says(refusal(directory + "/y.db"), "writable for you"); });
}
