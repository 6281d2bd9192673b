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
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string>

using namespace ew;
using namespace ew::files;
using test::carried_out;
using test::Outcome;
using test::request_for;

namespace {

constexpr uid_t somebody = 12345;

Outcome written(const std::string& path, std::string data) {
    Request request = request_for(Verb::write_file, path);
    request.data = std::move(data);
    return carried_out(request);
}

Outcome copied(const std::string& from, const std::string& to) {
    Request request = request_for(Verb::copy, from);
    request.other_path = to;
    request.recursive = true;
    return carried_out(request);
}

struct stat status_of(const std::string& path) {
    struct stat status = {};
    (void)::lstat(path.c_str(), &status); // zeros are what no file has
    return status;
}

bool holds_only(const test::TempDirectory& directory, std::ptrdiff_t count) {
    return std::distance(std::filesystem::directory_iterator(directory.path()), {}) == count;
}

void make_accessible(const test::TempDirectory& directory, mode_t mode) {
    REQUIRE(::chmod(directory.path().c_str(), mode) == 0);
}

bool become_somebody() {
    return ::setgid(somebody) == 0 && ::setuid(somebody) == 0;
}

// From now on there are no files without a name.
bool refuse_nameless() {
    constexpr std::uint32_t nameless = O_TMPFILE & ~O_DIRECTORY;
    std::array<sock_filter, 6> program = {
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, nameless, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter = {program.size(), program.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

} // namespace

TEST_CASE("the owner of a file is kept") {
    if (::geteuid() != 0) return; // nobody else has files of others
    const test::TempDirectory directory;
    const std::string path = directory.write("file", "old");
    REQUIRE(::chown(path.c_str(), somebody, somebody + 1) == 0);
    CHECK(written(path, "new").message().empty());
    CHECK(directory.read("file") == "new");
    CHECK(status_of(path).st_uid == somebody);
    CHECK(status_of(path).st_gid == somebody + 1);
}

TEST_CASE("what may not be written is not replaced, though its directory may be") {
    if (::geteuid() != 0) return; // only root can become somebody
    const test::TempDirectory directory;
    make_accessible(directory, 0777);
    const std::string path = directory.write("file", "old");
    REQUIRE(::chown(path.c_str(), somebody, somebody) == 0);
    REQUIRE(::chmod(path.c_str(), 0444) == 0);
    CHECK(test::in_child([&] {
              return become_somebody() && written(path, "new").failed_as(Trouble::permission) &&
                     copied("/proc/version", path).failed_as(Trouble::permission);
          }).is_true);
    CHECK(directory.read("file") == "old");
    CHECK(holds_only(directory, 1));
}

TEST_CASE("where no new file may be made, and where an owner cannot be kept, it is in place") {
    if (::geteuid() != 0) return; // only root can become somebody
    const test::TempDirectory directory;
    const std::string path = directory.write("file", "old, and longer");
    REQUIRE(::chmod(path.c_str(), 0666) == 0);
    const ino_t old = status_of(path).st_ino;
    for (const mode_t mode : {mode_t{0755}, mode_t{0777}, mode_t{01777}}) {
        CAPTURE(mode);
        make_accessible(directory, mode);
        const std::string text = "new " + std::to_string(mode);
        CHECK(test::in_child([&] {
                  return become_somebody() && written(path, text).message().empty();
              }).is_true);
        CHECK(directory.read("file") == text);
        CHECK(status_of(path).st_ino == old);
        CHECK(status_of(path).st_uid == 0);
        CHECK(holds_only(directory, 1));
    }
}

TEST_CASE("without nameless files nothing is different") {
    const test::TempDirectory directory;
    const std::string path = directory.write("file", "old");
    REQUIRE(::chmod(path.c_str(), 0750) == 0);
    CHECK(test::in_child([&] {
              return refuse_nameless() && written(path, "new").message().empty() &&
                     written(directory.path("made"), "made").message().empty() &&
                     copied(path, directory.path("copy")).message().empty();
          }).is_true);
    CHECK(directory.read("file") == "new");
    CHECK((status_of(path).st_mode & 07777) == 0750);
    CHECK(directory.read("made") == "made");
    CHECK(directory.read("copy") == "new");
    CHECK(holds_only(directory, 3));
}

TEST_CASE("files of the kernel are written in place") {
    CHECK(test::in_child([] {
              std::array<char, 16> name = {};
              return written("/proc/self/comm", "renamed").message().empty() &&
                     ::prctl(PR_GET_NAME, name.data()) == 0 &&
                     std::string(name.data()) == "renamed";
          }).is_true);
}

// It cannot be written, but another program can take its name.
TEST_CASE("a program that runs is replaced, and goes on") {
    const test::TempDirectory directory;
    const std::string path = directory.path("program");
    std::filesystem::copy_file("/bin/sleep", path);
    std::array<int, 2> ends = {-1, -1};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    const pid_t program = ::fork();
    if (program == 0) {
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::execl(path.c_str(), "program", "600", static_cast<char*>(nullptr));
        ::_exit(1);
    }
    writer.reset();
    char byte = 0;
    CHECK(::read(reader.get(), &byte, 1) == 0); // the end: it is being executed
    CHECK_FALSE(UniqueFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC)));
    CHECK(errno == ETXTBSY);
    const mode_t mode = status_of(path).st_mode;
    CHECK(written(path, "#!/bin/sh\n").message().empty());
    CHECK(directory.read("program") == "#!/bin/sh\n");
    CHECK(status_of(path).st_mode == mode);
    CHECK(::kill(program, SIGKILL) == 0);
    int status = 0;
    CHECK(::waitpid(program, &status, 0) == program);
    CHECK(WIFSIGNALED(status));
    CHECK(holds_only(directory, 1));
}

TEST_CASE("a copy of a link is one of what it leads to, with its mode") {
    const test::TempDirectory directory;
    const std::string path = directory.write("real", "text");
    REQUIRE(::chmod(path.c_str(), 0751) == 0);
    REQUIRE(::symlink("real", directory.path("link").c_str()) == 0);
    directory.write("there", "longer than the new");
    for (const char* const name : {"new", "there"}) {
        CHECK(copied(directory.path("link"), directory.path(name)).message().empty());
        CHECK(directory.read(name) == "text");
        CHECK((status_of(directory.path(name)).st_mode & 07777) == 0751);
        CHECK(S_ISREG(status_of(directory.path(name)).st_mode));
    }
}

TEST_CASE("what is missing or has no place is not copied") {
    const test::TempDirectory directory;
    directory.write("file", "text");
    directory.make("directory");
    CHECK(copied(directory.path("missing"), directory.path("to")).failed_as(Trouble::not_found));
    CHECK(
        copied(directory.path("file"), directory.path("missing/to")).failed_as(Trouble::not_found));
    CHECK(
        copied(directory.path("file"), directory.path("directory")).failed_as(Trouble::wrong_kind));
    CHECK(copied(directory.path("directory"), directory.path("file")).failed_as(Trouble::other));
    CHECK(copied("/dev/null", directory.path("to")).failed_as(Trouble::wrong_kind));
    CHECK(directory.read("file") == "text");
    CHECK(holds_only(directory, 2));
}

TEST_CASE("a tree is copied into what is there, again and again") {
    const test::TempDirectory directory;
    directory.write("from/a/file", "new");
    REQUIRE(::symlink("a", directory.path("from/link").c_str()) == 0);
    REQUIRE(::symlink("a", directory.path("from/other").c_str()) == 0);
    directory.write("to/a/file", "old");
    directory.write("to/a/more", "kept");
    directory.write("to/link", "was a file");
    for (int i = 0; i < 2; ++i) {
        CHECK(copied(directory.path("from"), directory.path("to")).message() == "");
        CHECK(directory.read("to/a/file") == "new");
        CHECK(directory.read("to/a/more") == "kept");
        CHECK(std::filesystem::read_symlink(directory.path("to/link")) == "a");
        CHECK(std::filesystem::read_symlink(directory.path("to/other")) == "a");
    }
    const std::filesystem::directory_iterator begin(directory.path("to"));
    CHECK(std::distance(begin, {}) == 3);
    // A directory is not given up for a link.
    directory.write("full/link/inner", "kept");
    CHECK_FALSE(copied(directory.path("from"), directory.path("full")).message().empty());
    CHECK(directory.read("full/link/inner") == "kept");
}

TEST_CASE("what is neither file, directory nor link stops the copy, and is named") {
    const test::TempDirectory directory;
    directory.make("from");
    REQUIRE(::mkfifo(directory.path("from/pipe").c_str(), 0600) == 0);
    const Outcome outcome = copied(directory.path("from"), directory.path("to"));
    CHECK(outcome.failed_as(Trouble::wrong_kind));
    CHECK(outcome.message().starts_with(directory.path("from/pipe")));
}

TEST_CASE("what holds a place in the sandbox is neither copied nor written over") {
    const test::TempDirectory directory;
    directory.write("from/file", "text");
    directory.make("from/.git");
    Request request = request_for(Verb::copy, directory.path("from"));
    request.stand_ins = {directory.path("from/.git")};
    request.recursive = true;
    request.other_path = directory.path("to");
    CHECK(carried_out(request).message().empty());
    CHECK(directory.read("to/file") == "text");
    CHECK_FALSE(std::filesystem::exists(directory.path("to/.git")));
    request.path = directory.path("from/.git");
    CHECK(carried_out(request).failed_as(Trouble::not_found));
    request.path = directory.path("to");
    request.other_path = directory.path("from/.git");
    CHECK(carried_out(request).failed_as(Trouble::read_only));
    request.verb = Verb::write_file;
    request.path = directory.path("from/.git");
    CHECK(carried_out(request).failed_as(Trouble::read_only));
    request.verb = Verb::read_file;
    CHECK(carried_out(request).failed_as(Trouble::not_found));
}
