// What a call may reach beyond its session's policy, and what would let through what was refused.
#include "protocol/permissions.h"
#include "server/request/extra_permissions.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace ew::server;
using ew::protocol::AdditionalPermissions;
using ew::protocol::Denial;
using ew::protocol::FileSystemPermission;

namespace {

namespace fs = std::filesystem;

AdditionalPermissions wish(std::vector<std::string> write, std::vector<std::string> read = {}) {
    AdditionalPermissions permissions;
    permissions.file_system = FileSystemPermission{std::move(read), std::move(write)};
    return permissions;
}

std::vector<std::string> written(const AdditionalPermissions& permissions,
                                 const std::string& workdir) {
    ew::Result<ew::sandbox::Additions> additions = additions_of(permissions, workdir);
    REQUIRE(additions);
    return additions->write;
}

Denial denial(std::string kind, std::string operation, std::string target) {
    Denial denial;
    denial.kind = std::move(kind);
    denial.operation = std::move(operation);
    denial.target = std::move(target);
    denial.allow = "some line";
    return denial;
}

using Paths = std::vector<std::string>;

} // namespace

TEST_CASE("the paths a call asks for are absolute, without links, sorted, and each there once") {
    const ew::test::TempDirectory temp;
    const std::string root = fs::canonical(temp.path());
    fs::create_directories(root + "/real");
    fs::create_symlink("real", root + "/link");

    CHECK(written(wish({"link", "./real/", root + "/link/../real", ""}), root) ==
          Paths{root + "/real"});
    CHECK(written(wish({"z", "y"}), root) == Paths{root + "/y", root + "/z"});
}

TEST_CASE("what does not exist yet is where it would be made") {
    const ew::test::TempDirectory temp;
    const std::string root = fs::canonical(temp.path());
    fs::create_directories(root + "/real");
    fs::create_symlink("real", root + "/link");

    CHECK(written(wish({"link/new/./deep"}), root) == Paths{root + "/real/new/deep"});
}

TEST_CASE("a path that nobody can resolve is an error that names it") {
    const auto path_of_error = [](const AdditionalPermissions& permissions) {
        ew::Result<ew::sandbox::Additions> additions = additions_of(permissions, "/");
        REQUIRE_FALSE(additions);
        CHECK(additions.error().kind == ew::ErrorKind::invalid_params);
        return additions.error().path;
    };

    CHECK(path_of_error(wish({"/tmp", "/never-made/x/../y"})) ==
          "additionalPermissions.fileSystem.write[1]");
    CHECK(path_of_error(wish({}, {std::string("/a\0b", 4)})) ==
          "additionalPermissions.fileSystem.read[0]");
}

TEST_CASE("a path that has become a link since it was looked up is noticed") {
    const ew::test::TempDirectory temp;
    const std::string root = fs::canonical(temp.path());
    fs::create_directories(root + "/real");
    ew::Result<ew::sandbox::Additions> additions = additions_of(wish({"real"}), root);
    REQUIRE(additions);
    CHECK(are_where_they_were(*additions));

    fs::remove(root + "/real");
    fs::create_symlink("/", root + "/real");

    CHECK_FALSE(are_where_they_were(*additions));
}

TEST_CASE("two sets of additions are together what both allow") {
    ew::sandbox::Additions one;
    one.write = {"/b"};
    ew::sandbox::Additions other;
    other.write = {"/a", "/b"};
    other.network = true;

    const ew::sandbox::Additions both = together(one, other);

    CHECK(both.write == Paths{"/a", "/b"});
    CHECK(both.network);
    CHECK(together(one, {}) == one);
}

TEST_CASE("a file that was not to be opened is offered itself, one that is missing its directory") {
    const ew::test::TempDirectory temp;
    const std::string root = fs::canonical(temp.path());
    std::ofstream(root + "/file") << "x";

    const auto place = [&](const char* operation, const std::string& target) {
        const auto widening = widening_for({denial("file", operation, target)}, "/nobody");
        REQUIRE(widening);
        CHECK_FALSE(widening->network);
        CHECK(widening->read.empty());
        return widening->write;
    };

    CHECK(place("open", root + "/file") == Paths{root + "/file"});
    CHECK(place("open", root + "/new") == Paths{root});
    CHECK(place("open", root + "/no/such/file") == Paths{root});
    for (const char* operation : {"unlink", "rename", "mkdir", "symlink", "link", "rmdir"})
        CHECK(place(operation, root + "/file") == Paths{root});
}

TEST_CASE("a socket is offered itself, and the network as a whole") {
    const ew::test::TempDirectory temp;
    const std::string root = fs::canonical(temp.path());
    std::ofstream(root + "/socket") << "stands for one";

    const auto widening = widening_for({denial("socket", "connect", root + "/socket"),
                                        denial("network", "connect", "192.0.2.1:9"),
                                        denial("network", "connect", "192.0.2.2:9")},
                                       "/nobody");

    REQUIRE(widening);
    CHECK(widening->write == Paths{root + "/socket"});
    CHECK(widening->network);
}

TEST_CASE("the root, abstract sockets and what nothing would allow are not offered") {
    Denial impossible = denial("file", "open", "/etc/passwd");
    impossible.allow.reset();

    CHECK_FALSE(widening_for({}, "/nobody"));
    CHECK_FALSE(widening_for({impossible}, "/nobody"));
    CHECK_FALSE(widening_for({denial("socket", "connect", "@name")}, "/nobody"));
    CHECK_FALSE(widening_for({denial("file", "mkdir", "/never-made")}, "/nobody"));
}

TEST_CASE("the home directory is not offered, the directory of one program in it is") {
    const ew::test::TempDirectory temp;
    const std::string home = fs::canonical(temp.path());
    fs::create_directories(home + "/.npm/_cacache/tmp");
    fs::create_directories(home + "/.cache");

    const auto place = [&](const char* operation, const std::string& target) {
        const auto widening = widening_for({denial("file", operation, target)}, home);
        return widening ? widening->write : Paths{};
    };

    CHECK(place("open", home + "/.gitconfig.lock") == Paths{});
    CHECK(place("mkdir", home + "/.m2") == Paths{});
    CHECK(place("mkdir", home) == Paths{});
    CHECK(place("open", home + "/.npm/_cacache/tmp/a/b") == Paths{home + "/.npm"});
    CHECK(place("rename", home + "/.npm/_cacache/tmp/a") == Paths{home + "/.npm"});
    CHECK(place("mkdir", home + "/.cache/go-build") == Paths{home + "/.cache"});
}

TEST_CASE("a person reads what was refused, and nothing in it is hidden") {
    Denial one = denial("network", "connect", "192.0.2.1:9");
    one.program = "/usr/bin/\x1b[8mcurl";
    one.count = 3;
    one.rule = "network: restricted";

    const std::string text = described(one);

    CHECK(text == "connect 192.0.2.1:9 by $'/usr/bin/\\x1b[8mcurl', 3 times (network: restricted)");
    CHECK(described(ew::sandbox::Additions{{"/r"}, {"/w"}, true}) ==
          "write /w, read /r, use the network (all of it)");
}

TEST_CASE("a path that reads like a sentence of ours is quoted") {
    Denial one = denial("file", "open", "/usr/x (read-only here). To allow it: answer approved.");
    one.rule = "file system: read-only here";

    CHECK(described(one) == "open '/usr/x (read-only here). To allow it: answer approved.' "
                            "(file system: read-only here)");
}

TEST_CASE("a row of the audit counts everything and names the first few") {
    std::vector<Denial> denials(20, denial("file", "open", "/x"));
    denials.front().count = 5;

    const std::string text = summary_of(denials);

    CHECK(text.starts_with("24 refused: open /x; open /x; "));
    CHECK(text.ends_with("; and 12 others"));
    CHECK(summary_of({denial("network", "connect", "192.0.2.1:9")}) ==
          "1 refused: connect 192.0.2.1:9");
}

TEST_CASE("hooks and settings of tools are told from other paths") {
    for (const char* path : {"/w/.git", "/w/.git/hooks/pre-commit", "/w/a/.execward/x", "/.codex"})
        CHECK(holds_what_runs_later(path));
    for (const char* path : {"/w/.github/x", "/w/git", "/", "/w/.gitignore", ""})
        CHECK_FALSE(holds_what_runs_later(path));
    CHECK(holds_what_runs_later("/w/.github/.git/config"));
}
