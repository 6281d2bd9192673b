#include "files/entry_ref.h"
#include "files/wire.h"
#include "support/child_process.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/files/verbs/carried_out.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>

using namespace ew;
using namespace ew::files;
using test::carried_out;
using test::request_for;

namespace {

constexpr uid_t somebody = 12345;

// From now on openat2(2) fails so.
bool refuse_openat2(std::uint32_t error_number) {
    std::array<sock_filter, 4> program = {
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error_number),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter = {program.size(), program.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool is_refused(const std::string& path) {
    EntryRef place;
    const Failure failure = find_end(path, false, place);
    return failure && failure->trouble == Trouble::wrong_kind;
}

bool is_found(const std::string& path) {
    EntryRef place;
    return !find_end(path, false, place);
}

} // namespace

TEST_CASE("step by step no link is opened, and everything else as by open(2)") {
    const test::TempDirectory directory;
    directory.write("real/file", "");
    REQUIRE(::symlink("real", directory.path("link").c_str()) == 0);
    REQUIRE(::symlink("file", directory.path("real/end").c_str()) == 0);
    const UniqueFd top(::open(directory.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto errno_of = [&top](const std::string& path, int flags) {
        return open_without_links(top.get(), path, flags) ? 0 : errno;
    };
    for (const int flags : {O_PATH, O_RDONLY, O_RDONLY | O_NONBLOCK}) {
        CAPTURE(flags);
        CHECK(errno_of("real/file", flags) == 0);
        CHECK(errno_of(directory.path("real/file"), flags) == 0);
        CHECK(errno_of("real", flags | O_DIRECTORY) == 0);
        CHECK(errno_of("real/", flags | O_DIRECTORY) == 0);
        CHECK(errno_of(".", flags | O_DIRECTORY) == 0);
        CHECK(errno_of("/", flags | O_DIRECTORY) == 0);
        CHECK(errno_of("link", flags | O_DIRECTORY) == ELOOP);
        CHECK(errno_of("link", flags) == ELOOP);
        CHECK(errno_of("link/file", flags) == ELOOP);
        CHECK(errno_of("real/end", flags) == ELOOP);
        CHECK(errno_of("missing", flags) == ENOENT);
        CHECK(errno_of("missing/file", flags) == ENOENT);
        CHECK(errno_of("real/file", flags | O_DIRECTORY) == ENOTDIR);
        CHECK(errno_of("real/file/inner", flags) == ENOTDIR);
    }
}

TEST_CASE("links are refused without openat2(2) too") {
    const test::TempDirectory directory;
    directory.write("real/file", "");
    REQUIRE(::symlink("real", directory.path("link").c_str()) == 0);
    REQUIRE(::symlink("file", directory.path("real/end").c_str()) == 0);
    for (const std::uint32_t error_number : {std::uint32_t{ENOSYS}, std::uint32_t{EPERM}}) {
        const test::ChildOutcome outcome = test::in_child([&] {
            return refuse_openat2(error_number) && is_found(directory.path("real/file")) &&
                   is_found(directory.path("real/missing")) &&
                   is_refused(directory.path("link/file")) &&
                   is_refused(directory.path("real/end"));
        });
        CHECK(outcome.is_true);
    }
}

TEST_CASE("the link of another user in a directory for all is not written through") {
    if (::geteuid() != 0) return; // nobody else can give links away
    const test::TempDirectory directory;
    directory.write("target", "kept");
    directory.make("shared");
    const auto link_of = [&directory](const char* name, const char* target, uid_t owner) {
        REQUIRE(::symlink(target, directory.path(name).c_str()) == 0);
        REQUIRE(::lchown(directory.path(name).c_str(), owner, owner) == 0);
    };
    link_of("shared/theirs", "../target", somebody);
    link_of("shared/nowhere", "../new", somebody);
    link_of("shared/ours", "../target", ::geteuid());
    Request request = request_for(Verb::write_file, directory.path("shared/theirs"));
    request.data = "changed";
    REQUIRE(::chmod(directory.path("shared").c_str(), 01777) == 0);
    CHECK(carried_out(request).failed_as(Trouble::permission));
    CHECK(directory.read("target") == "kept");
    request.path = directory.path("shared/nowhere");
    CHECK(carried_out(request).failed_as(Trouble::permission));
    CHECK(::access(directory.path("new").c_str(), F_OK) != 0);

    request.path = directory.path("shared/ours");
    CHECK(carried_out(request).message().empty());
    CHECK(directory.read("target") == "changed");
    // The owner of the directory is trusted with it, and one that is not for all is no trap.
    request.data = "again";
    request.path = directory.path("shared/theirs");
    REQUIRE(::chown(directory.path("shared").c_str(), somebody, somebody) == 0);
    CHECK(carried_out(request).message().empty());
    REQUIRE(::chown(directory.path("shared").c_str(), ::geteuid(), somebody) == 0);
    CHECK_FALSE(carried_out(request).message().empty());
    REQUIRE(::chmod(directory.path("shared").c_str(), 0755) == 0);
    CHECK(carried_out(request).message().empty());
    CHECK(directory.read("target") == "again");
}

TEST_CASE("a path resolves to one without links, if it exists") {
    const test::TempDirectory directory;
    directory.write("real/file", "");
    REQUIRE(::symlink("real", directory.path("link").c_str()) == 0);
    REQUIRE(::symlink("missing", directory.path("nowhere").c_str()) == 0);
    REQUIRE(::symlink("loop", directory.path("loop").c_str()) == 0);
    const test::Outcome found =
        carried_out(request_for(Verb::canonicalize, directory.path("link/file")));
    REQUIRE(found.message().empty());
    CHECK(found.done->path == directory.path("real/file"));
    CHECK(carried_out(request_for(Verb::canonicalize, directory.path("nowhere")))
              .failed_as(Trouble::not_found));
    CHECK(carried_out(request_for(Verb::canonicalize, directory.path("loop")))
              .failed_as(Trouble::other));
}
