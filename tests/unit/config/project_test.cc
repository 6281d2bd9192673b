#include "config/project.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <unistd.h>

#include <filesystem>

using ew::config::project_root;
using ew::test::TempDirectory;

TEST_SUITE_BEGIN("config/project");

TEST_CASE("the project of a workspace is the git work tree around it") {
    const TempDirectory directory;
    directory.make("top/.git");
    directory.make("top/a/b");

    CHECK(project_root(directory.path("top/a/b")) == directory.path("top"));
    CHECK(project_root(directory.path("top")) == directory.path("top"));
}

TEST_CASE("the nearest work tree counts, also one whose .git is a file") {
    const TempDirectory directory;
    directory.make("top/.git");
    directory.write("top/module/.git", "gitdir: ../.git/modules/module\n");
    directory.make("top/module/src");

    CHECK(project_root(directory.path("top/module/src")) == directory.path("top/module"));
}

TEST_CASE("without git the workspace is the project") {
    const TempDirectory directory;
    directory.make("work/a");

    CHECK(project_root(directory.path("work/a")) == directory.path("work/a"));
    CHECK(project_root("/") == "/");
    CHECK(project_root("/no/such/directory") == "/no/such/directory");
}

TEST_CASE("a workspace by another name is the same project") {
    const TempDirectory directory;
    directory.make("real");
    std::filesystem::create_directory_symlink("real", directory.path("link"));

    CHECK(project_root(directory.path("link/../real/.")) == directory.path("real"));
    CHECK(project_root(directory.path("link")) == directory.path("real"));
}

TEST_CASE("a .git of somebody else makes no project" * doctest::skip(::geteuid() != 0)) {
    const TempDirectory directory;
    directory.make("top/a");
    const std::string git = directory.make("top/.git");
    REQUIRE(::chown(git.c_str(), 12345, 12345) == 0);

    CHECK(project_root(directory.path("top/a")) == directory.path("top/a"));
}

TEST_CASE("a project has its rules in a folder of its own") {
    CHECK(ew::config::project_rules_dir("/p") == "/p/.execward/rules.d");
}

TEST_SUITE_END();
