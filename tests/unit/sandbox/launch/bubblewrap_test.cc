#include "core/sha256.h"
#include "sandbox/launch/bubblewrap.h"
#include "sandbox/launch/init_place.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace ew;
using namespace ew::sandbox;

namespace {

std::string program(const test::TempDirectory& directory, std::string_view name = "bin/program") {
    std::string path = directory.write(name, "#!/bin/true\n");
    ::chmod(path.c_str(), 0755);
    return path;
}

std::string refusal(Result<TrustedProgram> result) {
    REQUIRE(!result);
    CHECK(result.error().kind == ErrorKind::sandbox_unavailable);
    return result.error().message;
}

bool says(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a program that only its owner and root can change is trusted") {
    const test::TempDirectory directory;
    const std::string path = program(directory);

    Result<TrustedProgram> found = trusted_program(path, ::geteuid());

    REQUIRE(found);
    CHECK(found->path == path);
    CHECK(found->identity.inode != 0);
}

TEST_CASE("a program that others may write to is not trusted") {
    const test::TempDirectory directory;
    const std::string path = program(directory);

    for (const mode_t mode : {0775u, 0757u}) {
        ::chmod(path.c_str(), mode);
        Result<TrustedProgram> found = trusted_program(path, ::geteuid());
        CHECK(says(refusal(found), "it is writable by others"));
        CHECK(found.error().hint == "chmod go-w " + path);
    }
}

TEST_CASE("a program in a directory that others may write to is not trusted") {
    const test::TempDirectory directory;
    const std::string path = program(directory, "a/b/program");
    ::chmod(directory.path("a").c_str(), 0770);

    const std::string why = refusal(trusted_program(path, ::geteuid()));

    CHECK(says(why, "its directory " + directory.path("a") + " is writable by others"));
}

TEST_CASE("a sticky directory above is no obstacle, as nobody can replace what is not theirs") {
    const test::TempDirectory directory;
    const std::string path = program(directory, "a/b/program");
    ::chmod(directory.path("a").c_str(), 01777);

    CHECK(trusted_program(path, ::geteuid()));
}

TEST_CASE("a sticky program is still a program that others may write to") {
    const test::TempDirectory directory;
    const std::string path = program(directory);
    ::chmod(path.c_str(), 01777);

    CHECK(says(refusal(trusted_program(path, ::geteuid())), "writable by others"));
}

TEST_CASE("a link is followed, and what it leads to is judged and used") {
    const test::TempDirectory directory;
    const std::string path = program(directory, "real/program");
    const std::string link = directory.make("bin") + "/link";
    REQUIRE(::symlink(path.c_str(), link.c_str()) == 0);

    Result<TrustedProgram> found = trusted_program(link, ::geteuid());
    REQUIRE(found);
    CHECK(found->path == path);

    ::chmod(directory.path("real").c_str(), 0777);
    CHECK(says(refusal(trusted_program(link, ::geteuid())), directory.path("real")));
}

TEST_CASE("what is no program is not trusted") {
    const test::TempDirectory directory;
    const std::string path = program(directory);

    CHECK(says(refusal(trusted_program(directory.path("bin"), ::geteuid())), "no regular file"));
    CHECK(says(refusal(trusted_program("/dev/null", ::geteuid())), "no regular file"));
    ::chmod(path.c_str(), 0644);
    CHECK(says(refusal(trusted_program(path, ::geteuid())), "cannot be executed"));
    const std::string empty = directory.write("empty", "");
    ::chmod(empty.c_str(), 0755);
    CHECK(says(refusal(trusted_program(empty, ::geteuid())), "is empty"));
}

TEST_CASE("a program of another user is not trusted") {
    if (::geteuid() != 0) {
        MESSAGE("needs root: skipped");
        return;
    }
    const test::TempDirectory directory;
    const std::string path = program(directory);
    REQUIRE(::chown(path.c_str(), 1000, 1000) == 0);

    CHECK(says(refusal(trusted_program(path, 0)), "belongs to user 1000"));

    REQUIRE(::chown(path.c_str(), 0, 0) == 0);
    REQUIRE(::chown(directory.path("bin").c_str(), 1000, 1000) == 0);
    CHECK(says(refusal(trusted_program(path, 0)), "its directory " + directory.path("bin")));
}

TEST_CASE("a replaced program has another identity") {
    const test::TempDirectory directory;
    const std::string path = program(directory);
    const FileIdentity before = trusted_program(path, ::geteuid())->identity;
    CHECK(trusted_program(path, ::geteuid())->identity == before);

    const std::string other = program(directory, "bin/other");
    REQUIRE(::rename(other.c_str(), path.c_str()) == 0);

    CHECK(trusted_program(path, ::geteuid())->identity != before);
}

TEST_CASE("the first bubblewrap that can be trusted is taken") {
    const test::TempDirectory directory;
    const std::string absent = directory.path("absent");
    const std::string bad = program(directory, "bad/bwrap");
    ::chmod(bad.c_str(), 0777);
    const std::string system = "/bin/sh"; // belongs to root, as bubblewrap does

    const std::array<std::string_view, 3> places = {absent, bad, system};
    Result<TrustedProgram> found = find_bubblewrap(places);
    REQUIRE(found);
    CHECK(says(found->path, "/bin/"));

    const std::array<std::string_view, 2> no_good = {absent, bad};
    CHECK(says(refusal(find_bubblewrap(no_good)), bad));
}

TEST_CASE("no bubblewrap anywhere is told with the way to install it") {
    const test::TempDirectory directory;
    const std::string absent = directory.path("absent");
    const std::array<std::string_view, 1> places = {absent};

    Result<TrustedProgram> found = find_bubblewrap(places);

    CHECK(says(refusal(found), "bubblewrap is not installed"));
    CHECK(says(found.error().hint, "apt install bubblewrap"));
}

TEST_CASE("a missing execward-init is told with its place") {
    const test::TempDirectory directory;

    Result<TrustedProgram> found = find_init(directory.path("execward-init"));

    CHECK(refusal(found) == directory.path("execward-init") + " is missing");
    CHECK(found.error().hint == "reinstall execward");
}

TEST_CASE("an execward-init of another build is told, one of this build is accepted") {
    const test::TempDirectory directory;
    const std::string path = program(directory, "execward-init");
    const TrustedProgram ours = *trusted_program(path, ::geteuid());
    const std::string digest = core::sha256("#!/bin/true\n");

    CHECK(check_build(ours, digest));
    CHECK(check_build(ours, digest)); // from memory

    directory.write("execward-init", "#!/bin/false\n");
    ::chmod(path.c_str(), 0755);
    const TrustedProgram other = *trusted_program(path, ::geteuid());
    Result<void> refused = check_build(other, digest);
    REQUIRE(!refused);
    CHECK(refused.error().kind == ErrorKind::sandbox_unavailable);
    CHECK(refused.error().message == path + " is not of the same build as execward");
    CHECK(check_build(other, "")); // a build with a fixed place
}

TEST_CASE("the parts of a relocatable build lie in ../libexec of the program's directory") {
    CHECK(part_beside("/opt/execward/bin/execward", "x") == "/opt/execward/libexec/x");
    CHECK(part_beside("/opt/a/bin/other name (deleted)", "x") == "/opt/a/libexec/x");
    CHECK(part_beside("/bin/execward", "x") == "/libexec/x");
    CHECK(part_beside("/execward", "x").empty());
    CHECK(part_beside("", "x").empty());
}
