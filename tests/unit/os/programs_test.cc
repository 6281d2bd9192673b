#include "os/programs.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

using ew::ErrorKind;
using ew::Result;
using ew::os::resolve_program;
using ew::os::TrustedPrograms;
using ew::os::TrustPlaces;
using ew::test::TempDirectory;

namespace {

std::string program(const TempDirectory& place, std::string_view name, mode_t mode = 0755) {
    const std::string path = place.write(name, "#!/bin/sh\n");
    ::chmod(path.c_str(), mode);
    return path;
}

void link(const std::string& target, const std::string& path) {
    REQUIRE(::symlink(target.c_str(), path.c_str()) == 0);
}

// Trust as if directories for temporary files were elsewhere, so that a test can have good ones.
TrustedPrograms trust(const std::string& path, std::vector<std::string> roots = {}) {
    return TrustedPrograms({path, std::move(roots), {}});
}

} // namespace

TEST_SUITE_BEGIN("os/programs");

TEST_CASE("a bare name is looked for in the directories of PATH, in order") {
    const TempDirectory place;
    const std::string first = program(place, "one/tool");
    (void)program(place, "two/tool");
    const std::string second = program(place, "two/other");
    const std::string path = place.path("one") + ":" + place.path("two");

    CHECK(*resolve_program("tool", path, "/") == first);
    CHECK(*resolve_program("other", path, "/") == second);
}

TEST_CASE("what cannot be executed is passed over") {
    const TempDirectory place;
    (void)program(place, "one/tool", 0644);
    (void)place.make("two/tool");
    const std::string good = program(place, "three/tool");
    const std::string path =
        place.path("one") + ":" + place.path("two") + ":/missing:" + place.path("three");

    CHECK(*resolve_program("tool", path, "/") == good);
}

TEST_CASE("an empty element of PATH is the directory of the command, and so a relative one") {
    const TempDirectory place;
    const std::string tool = program(place, "tool");
    const std::string inner = program(place, "bin/inner");

    CHECK(*resolve_program("tool", "", place.path()) == tool);
    CHECK(*resolve_program("tool", "/missing:", place.path()) == tool);
    CHECK(*resolve_program("inner", "bin", place.path()) == inner);
}

TEST_CASE("a word with a slash is not looked for in PATH") {
    const TempDirectory place;
    const std::string tool = program(place, "bin/tool");

    CHECK(*resolve_program("bin/tool", "/usr/bin", place.path()) == tool);
    CHECK(*resolve_program("./tool", "/usr/bin", place.path("bin")) == tool);
    CHECK(*resolve_program(tool, "", "/") == tool);
    CHECK_FALSE(resolve_program("./tool", place.path("bin"), place.path()));
}

TEST_CASE("symlinks are resolved, in the name and on the way to it") {
    const TempDirectory place;
    const std::string tool = program(place, "real/tool-1.0");
    link("tool-1.0", place.path("real/tool"));
    link("real", place.path("bin"));

    CHECK(*resolve_program("tool", place.path("bin"), "/") == tool);
    CHECK(*resolve_program("./bin/../bin/tool", "", place.path()) == tool);
}

TEST_CASE("a program that is nowhere is named in the error, and where it was looked for") {
    Result<std::string> found = resolve_program("no-such-tool", "/usr/bin:/bin", "/");
    REQUIRE_FALSE(found);
    CHECK(found.error().kind == ErrorKind::spawn_not_found);
    CHECK(found.error().message == "there is no program 'no-such-tool' in PATH (/usr/bin:/bin)");

    found = resolve_program("./no-such-tool", "/usr/bin", "/somewhere");
    REQUIRE_FALSE(found);
    CHECK(found.error().kind == ErrorKind::spawn_not_found);
    CHECK(found.error().message ==
          "there is no program './no-such-tool' (looked for /somewhere/./no-such-tool)");
}

TEST_CASE("a file that is there and no program is told as such") {
    const TempDirectory place;
    const std::string file = program(place, "file", 0644);

    Result<std::string> found = resolve_program(file, "", "/");
    REQUIRE_FALSE(found);
    CHECK(found.error().kind == ErrorKind::spawn_failed);
    CHECK(found.error().message == file + ": Permission denied");

    found = resolve_program("file", place.path(), "/");
    REQUIRE_FALSE(found);
    CHECK(found.error().kind == ErrorKind::spawn_failed);
    CHECK_FALSE(resolve_program(place.path(), "", "/"));
}

TEST_CASE("no name and half of a name are no programs") {
    CHECK_FALSE(resolve_program("", "/bin", "/"));
    CHECK_FALSE(resolve_program(std::string("sh\0x", 4), "/bin", "/"));
    CHECK_FALSE(resolve_program(std::string("/bin/sh\0x", 9), "/bin", "/"));
    CHECK_FALSE(TrustedPrograms({"/bin", {}}).is_trusted(std::string_view("sh\0x", 4)));
    CHECK_FALSE(TrustedPrograms({"/bin", {}}).is_trusted(""));
}

TEST_CASE("programs of the system are trusted by name and by path") {
    const TrustedPrograms programs({"/usr/local/bin:/usr/bin:/bin", {"/work"}});

    CHECK(programs.is_trusted("sh"));
    CHECK(programs.is_trusted("/bin/sh"));
    CHECK(programs.is_trusted("/usr/bin/../bin/env"));
    CHECK_FALSE(programs.is_trusted("/etc/passwd"));
    CHECK_FALSE(programs.is_trusted("/usr/bin/no-such-tool"));
    CHECK_FALSE(programs.is_trusted("/usr/bin"));
}

TEST_CASE("what is another file in another process is not trusted") {
    const TrustedPrograms programs({"/proc/self/root/usr/bin:/usr/bin:/bin", {}});

    for (const char* path :
         {"/proc/self/root/usr/bin/env", "/proc/thread-self/root/usr/bin/env", "/proc/self/cwd/env",
          "/proc/1/root/usr/bin/env", "/dev/fd/../root/usr/bin/env"}) {
        CAPTURE(path);
        CHECK_FALSE(programs.is_trusted(path));
        CHECK_FALSE(programs.is_trusted_file(path));
    }
    CHECK_FALSE(programs.is_trusted("env"));
}

TEST_CASE("a path has one meaning for all processes, or none") {
    const TempDirectory place;
    (void)place.make("work/inner");
    link("/proc/self/cwd", place.path("work/cwd"));
    link("cwd", place.path("work/over"));
    link("inner", place.path("work/good"));
    const std::string work = place.path("work");

    CHECK(ew::os::shared_real_path(work + "/good/../good") == work + "/inner");
    CHECK(ew::os::shared_real_path("/") == "/");
    for (const std::string& path :
         {"/proc/self/cwd" + work, "/proc/self/root" + work, "/proc/thread-self/root" + work,
          "/proc/" + std::to_string(::getpid()) + "/root" + work, "/dev/fd/../root" + work,
          "/proc/../proc/self/./root/" + work, work + "/cwd", work + "/over", work + "/missing",
          std::string("/proc"), std::string("work"), std::string()}) {
        CAPTURE(path);
        CHECK_FALSE(ew::os::shared_real_path(path));
    }
}

TEST_CASE("a single file that agents may write to is not trusted") {
    const TempDirectory place;
    const std::string tool = program(place, "bin/tool");
    (void)program(place, "bin/other");
    link("tool", place.path("bin/alias"));
    const TrustedPrograms programs = trust(place.path("bin"), {tool});

    CHECK_FALSE(programs.is_trusted("tool"));
    CHECK_FALSE(programs.is_trusted(tool));
    CHECK_FALSE(programs.is_trusted("alias"));
    CHECK(programs.is_trusted("other"));
}

TEST_CASE("relative paths are never trusted") {
    const TrustedPrograms programs({"/usr/bin:/bin", {}});

    CHECK_FALSE(programs.is_trusted("./sh"));
    CHECK_FALSE(programs.is_trusted("bin/sh"));
    CHECK_FALSE(programs.is_trusted("../bin/sh"));
    CHECK_FALSE(programs.is_trusted("~/sh"));
}

TEST_CASE("a name that no directory has is trusted if all directories are") {
    CHECK(TrustedPrograms({"/usr/bin:/missing:/bin", {}}).is_trusted("no-such-tool"));
    CHECK_FALSE(TrustedPrograms({"/usr/bin:relative:/bin", {}}).is_trusted("no-such-tool"));
    CHECK_FALSE(TrustedPrograms({"/usr/bin:", {}}).is_trusted("no-such-tool"));
    CHECK_FALSE(TrustedPrograms({"", {}}).is_trusted("no-such-tool"));
}

TEST_CASE("a directory that cannot be trusted spoils the names behind it, not those before") {
    const std::string path = "/usr/bin:.:/bin";

    CHECK(TrustedPrograms({path, {}}).is_trusted("env"));
    CHECK_FALSE(TrustedPrograms({".:" + path, {}}).is_trusted("env"));
    CHECK_FALSE(TrustedPrograms({"/tmp/missing:" + path, {}}).is_trusted("env"));
}

TEST_CASE("directories for temporary files are not trusted") {
    const TempDirectory place;
    const std::string tool = program(place, "tool");

    CHECK(trust(place.path()).is_trusted("tool"));
    CHECK_FALSE(TrustedPrograms({place.path(), {}}).is_trusted("tool"));
    CHECK_FALSE(TrustedPrograms({place.path(), {}}).is_trusted(tool));
}

TEST_CASE("a workspace is not trusted, nor what is below it, however it is reached") {
    const TempDirectory place;
    const std::string tool = program(place, "work/bin/tool");
    (void)program(place, "work2/bin/tool");
    link(place.path("work"), place.path("alias"));
    link(tool, place.path("work2/bin/linked"));
    const std::string work = place.path("work");

    CHECK_FALSE(trust(work + "/bin", {work}).is_trusted("tool"));
    CHECK_FALSE(trust(work + "/bin", {work + "/bin/"}).is_trusted("tool"));
    CHECK_FALSE(trust(place.path("alias/bin"), {work}).is_trusted("tool"));
    CHECK_FALSE(trust(work + "/bin", {place.path("alias")}).is_trusted("tool"));
    CHECK_FALSE(trust(place.path("work2/bin"), {work}).is_trusted("linked"));
    CHECK_FALSE(trust(place.path("work2/bin"), {"/"}).is_trusted("tool"));
    CHECK_FALSE(trust(place.path("work2/../work//bin/"), {work}).is_trusted("tool"));
    CHECK(trust(place.path("work2/bin"), {work}).is_trusted("tool"));
    CHECK(trust(place.path("./work2//bin/../bin/"), {work}).is_trusted("tool"));
}

TEST_CASE("a missing directory is as good as the place where it could be made") {
    const TempDirectory place;
    link(place.path("work/not-yet"), place.path("dangling"));
    const std::string system = ":/usr/bin:/bin";

    CHECK(trust(place.path("missing") + system, {place.path("work")}).is_trusted("env"));
    CHECK_FALSE(trust(place.path("work/bin") + system, {place.path("work")}).is_trusted("env"));
    CHECK_FALSE(trust(place.path("dangling") + system).is_trusted("env"));
    (void)place.make("home/me");
    link("home", place.path("link"));
    const std::string below_link = place.path("link/me/missing") + system;
    CHECK(trust(below_link).is_trusted("env"));
    CHECK_FALSE(trust(below_link, {place.path("home")}).is_trusted("env"));
    ::chmod(place.make("open").c_str(), 0777);
    CHECK_FALSE(trust(place.path("open/missing") + system).is_trusted("env"));
}

TEST_CASE("a directory that others may write to is not trusted, sticky or not") {
    const TempDirectory place;
    (void)program(place, "bin/tool");
    const std::string directory = place.path("bin");
    for (const mode_t mode : {0775U, 0757U, 0777U, 01777U}) {
        ::chmod(directory.c_str(), mode);
        CHECK_FALSE(trust(directory).is_trusted("tool"));
    }
    ::chmod(directory.c_str(), 0755);
    CHECK(trust(directory).is_trusted("tool"));
}

TEST_CASE("a directory below one that others may write to is trusted only if that is sticky") {
    const TempDirectory place;
    (void)program(place, "open/bin/tool");
    const std::string open = place.path("open");

    ::chmod(open.c_str(), 0777);
    CHECK_FALSE(trust(open + "/bin").is_trusted("tool"));

    ::chmod(open.c_str(), 01777);
    CHECK(trust(open + "/bin").is_trusted("tool"));
}

TEST_CASE("a file that others may write to is not trusted") {
    const TempDirectory place;
    const std::string tool = program(place, "bin/tool", 0775);

    CHECK_FALSE(trust(place.path("bin")).is_trusted("tool"));
    CHECK_FALSE(trust(place.path("bin")).is_trusted(tool));
    CHECK_FALSE(trust(place.path("bin")).is_trusted_file(tool));
}

TEST_CASE("an absolute path is trusted only in a directory of the system or of PATH") {
    const TempDirectory place;
    const std::string tool = program(place, "bin/tool");

    CHECK(trust(place.path("bin")).is_trusted(tool));
    CHECK_FALSE(trust("/usr/bin").is_trusted(tool));
    CHECK(trust("/usr/bin").is_trusted_file(tool));
}

TEST_CASE("a link to a trusted program is trusted only where its name was given by trusted hands") {
    const TempDirectory place;
    for (const char* name : {"work/cat", "work/bash", "other/cat"}) {
        (void)place.make(std::filesystem::path(name).parent_path().string());
        link("/bin/sh", place.path(name));
    }
    const TrustedPrograms programs = trust("/usr/bin:/bin", {place.path("work")});

    CHECK_FALSE(programs.is_trusted(place.path("work/cat")));
    CHECK_FALSE(programs.is_trusted(place.path("work/bash")));
    CHECK_FALSE(programs.is_trusted_file(place.path("work/bash")));
    CHECK_FALSE(programs.is_trusted(place.path("other/cat")));
    CHECK(trust(place.path("other")).is_trusted(place.path("other/cat")));
    CHECK(trust(place.path("other")).is_trusted("cat"));
    CHECK_FALSE(trust(place.path("work"), {place.path("work")}).is_trusted("cat"));
}

TEST_CASE("a directory that is reached by a link in an untrusted one is not trusted") {
    const TempDirectory place;
    (void)place.make("work");
    (void)place.make("open");
    link("/usr/bin", place.path("work/bin"));
    link("/usr/bin", place.path("open/bin"));
    link("/usr/bin", place.path("good"));
    link("work/bin", place.path("over"));
    ::chmod(place.path("open").c_str(), 0777);
    const std::string path = "/usr/bin:/bin";
    const TrustedPrograms programs = trust(path, {place.path("work")});

    for (const char* directory : {"work/bin", "open/bin", "over", "good/../work/bin"}) {
        CAPTURE(directory);
        CHECK_FALSE(programs.is_trusted(place.path(directory) + "/env"));
        CHECK_FALSE(trust(place.path(directory), {place.path("work")}).is_trusted("env"));
    }
    CHECK(programs.is_trusted(place.path("good/env")));
    CHECK(trust(place.path("good")).is_trusted("env"));
}

TEST_CASE("links between trusted directories lead to a program that is trusted under their name") {
    const TempDirectory place;
    (void)program(place, "real/tool-1.0");
    (void)place.make("bin");
    (void)place.make("alternatives");
    link("../real/tool-1.0", place.path("alternatives/tool"));
    link(place.path("alternatives/tool"), place.path("bin/tool"));
    const TrustedPrograms programs = trust(place.path("bin"));

    CHECK(programs.is_trusted("tool"));
    CHECK(programs.is_trusted(place.path("bin/tool")));
    ::chmod(place.path("alternatives").c_str(), 0777);
    CHECK_FALSE(programs.is_trusted("tool"));
    CHECK_FALSE(programs.is_trusted(place.path("bin/tool")));
}

TEST_CASE("links that lead in a circle or nowhere are not trusted") {
    const TempDirectory place;
    link("b", place.path("a"));
    link("a", place.path("b"));
    link("nowhere", place.path("c"));

    for (const char* name : {"a", "c", "a/tool", "missing"}) {
        CHECK_FALSE(trust(place.path()).is_trusted(place.path(name)));
        CHECK_FALSE(trust(place.path()).is_trusted_file(place.path(name)));
    }
}

TEST_CASE("a missing directory behind .. is not trusted") {
    const TempDirectory place;
    const std::string behind = place.path("missing/../work/bin") + ":/usr/bin:/bin";

    CHECK_FALSE(trust(behind, {place.path("work")}).is_trusted("env"));
}

TEST_CASE("what belongs to somebody else is not trusted") {
    if (::geteuid() != 0) return; // only root can give a file away
    const TempDirectory place;
    const std::string tool = program(place, "bin/tool");
    constexpr uid_t stranger = 12345;

    REQUIRE(::chown(tool.c_str(), stranger, 0) == 0);
    CHECK_FALSE(trust(place.path("bin")).is_trusted("tool"));

    REQUIRE(::chown(tool.c_str(), 0, 0) == 0);
    CHECK(trust(place.path("bin")).is_trusted("tool"));
    REQUIRE(::chown(place.path("bin").c_str(), stranger, 0) == 0);
    CHECK_FALSE(trust(place.path("bin")).is_trusted("tool"));

    ::chmod(place.make("shared").c_str(), 01777);
    link("/usr/bin", place.path("shared/bin"));
    CHECK(trust(place.path("shared/bin")).is_trusted("env"));
    REQUIRE(::lchown(place.path("shared/bin").c_str(), stranger, 0) == 0);
    CHECK_FALSE(trust(place.path("shared/bin")).is_trusted("env"));
}

TEST_SUITE_END();
