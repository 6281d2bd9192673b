#include "sandbox/plan/repositories.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

using namespace ew;
using namespace ew::sandbox;

namespace {

const GitPin* pin_of(const std::vector<GitPin>& pins, const std::string& path) {
    const auto found = std::ranges::find(pins, path, &GitPin::path);
    return found == pins.end() ? nullptr : &*found;
}

} // namespace

TEST_CASE("of a repository hooks and settings are pinned, and what could lead git elsewhere") {
    const test::Tree tree;
    const std::string git = tree.git(".git");

    const std::vector<GitPin> pins = git_pins(git);

    REQUIRE(pin_of(pins, git + "/hooks") != nullptr);
    CHECK(pin_of(pins, git + "/hooks")->stand_in == GitPin::StandIn::directory);
    REQUIRE(pin_of(pins, git + "/config") != nullptr);
    REQUIRE(pin_of(pins, git + "/commondir") != nullptr);
    CHECK(pin_of(pins, git + "/commondir")->stand_in == GitPin::StandIn::file);
    CHECK(pin_of(pins, git + "/commondir")->content == ".\n");
    for (const char* const name : {"/config.worktree", "/info", "/modules"}) {
        REQUIRE(pin_of(pins, git + name) != nullptr);
        CHECK(pin_of(pins, git + name)->stand_in != GitPin::StandIn::none);
    }
}

TEST_CASE("submodules and linked worktrees are pinned with their repository") {
    const test::Tree tree;
    const std::string git = tree.git(".git");
    tree.git(".git/modules/lib/foo");
    tree.git(".git/modules/lib/foo/modules/bar");
    tree.file(".git/worktrees/w/commondir", "../..\n");
    tree.file(".git/worktrees/w/gitdir", "/elsewhere/.git\n");

    const std::vector<GitPin> pins = git_pins(git);

    CHECK(pin_of(pins, git + "/modules/lib/foo/hooks") != nullptr);
    CHECK(pin_of(pins, git + "/modules/lib/foo/modules/bar/config") != nullptr);
    CHECK(pin_of(pins, git + "/worktrees/w/commondir") != nullptr);
    CHECK(pin_of(pins, git + "/worktrees/w/gitdir") != nullptr);
    CHECK(pin_of(pins, git + "/worktrees/w/config.worktree") != nullptr);
}

TEST_CASE("submodules of a linked worktree are pinned") {
    const test::Tree tree;
    const std::string git = tree.git(".git");
    tree.file(".git/worktrees/w/commondir", "../..\n");
    tree.git(".git/worktrees/w/modules/lib");

    CHECK(pin_of(git_pins(git), git + "/worktrees/w/modules/lib/hooks") != nullptr);
    CHECK(pin_of(git_pins(git + "/worktrees/w"), git + "/worktrees/w/modules/lib/hooks") !=
          nullptr);
}

TEST_CASE("submodules behind links are pinned where they are, and the links too") {
    const test::Tree tree;
    const std::string git = tree.git(".git");
    tree.git("elsewhere/lib");
    tree.git("all/m");
    tree.directory(".git/modules");
    tree.link(".git/modules/lib", "../../elsewhere/lib");
    tree.git("other/.git");
    tree.link("other/.git/modules", "../../all");
    tree.git("endless/.git");
    tree.directory("endless/.git/modules");
    tree.link("endless/.git/modules/loop", ".");

    const std::vector<GitPin> pins = git_pins(git);
    const std::vector<GitPin> others = git_pins(tree.at("other/.git"));

    CHECK(pin_of(pins, git + "/modules/lib") != nullptr);
    CHECK(pin_of(pins, tree.at("elsewhere/lib/hooks")) != nullptr);
    CHECK(pin_of(others, tree.at("other/.git/modules")) != nullptr);
    CHECK(pin_of(others, tree.at("all/m/config")) != nullptr);
    CHECK(pin_of(git_pins(tree.at("endless/.git")), tree.at("endless/.git/modules")) != nullptr);
}

TEST_CASE("what leads elsewhere takes no protection away") {
    const test::Tree tree;
    const std::string git = tree.git(".git");
    tree.git("evil");
    tree.file(".git/commondir", "../evil\n");

    const std::vector<GitPin> pins = git_pins(git);

    CHECK(pin_of(pins, git + "/hooks") != nullptr);
    CHECK(pin_of(pins, git + "/config") != nullptr);
    CHECK(pin_of(pins, git + "/commondir") != nullptr);
}

TEST_CASE("nothing but a file is opened to see where git is led") {
    const test::Tree tree;
    const std::string git = tree.git(".git");
    REQUIRE(::mkfifo(tree.at(".git/commondir").c_str(), 0600) == 0); // to open it would wait
    tree.link("link", "/dev/null");

    CHECK(linked_from(git).common_directory == git);
    CHECK_FALSE(linked_by(tree.at("link")));
    CHECK_FALSE(linked_by("/dev/tty"));
}

TEST_CASE("links on the way to a git directory are told") {
    const test::Tree tree;
    tree.git("main/.git");
    tree.link("link", "main");
    tree.file("w/.git", "gitdir: ../link/.git\n");

    const std::optional<Linked> linked = linked_by(tree.at("w/.git"));

    REQUIRE(linked);
    CHECK(linked->git_directory == tree.at("main/.git"));
    CHECK(linked->links == std::vector{tree.at("link")});
}

TEST_CASE("a submodule stays one when a command takes its HEAD away") {
    const test::Tree tree;
    const std::string git = tree.git(".git");
    tree.git(".git/modules/lib/foo");
    std::filesystem::remove(tree.at(".git/modules/lib/foo/HEAD"));

    CHECK(pin_of(git_pins(git), git + "/modules/lib/foo/hooks") != nullptr);
}

TEST_CASE("too many submodules or worktrees for a pin on each are pinned as a whole") {
    const test::Tree tree;
    const std::string git = tree.git(".git");
    tree.git(".git/modules/z");
    for (std::size_t i = 0; i <= most_modules; ++i) {
        tree.directory(".git/modules/" + std::to_string(i));
        tree.directory(".git/worktrees/" + std::to_string(i));
    }

    const std::vector<GitPin> pins = git_pins(git);

    CHECK(pin_of(pins, git + "/modules") != nullptr);
    CHECK(pin_of(pins, git + "/worktrees") != nullptr);
    CHECK(pin_of(pins, git + "/hooks") != nullptr);
    CHECK(pins.size() < 8);
}

TEST_CASE("as many submodules as the bound allows are pinned one by one") {
    const test::Tree tree;
    const std::string git = tree.git(".git");
    for (std::size_t i = 0; i < most_modules; ++i)
        tree.file(".git/modules/" + std::to_string(i) + "/HEAD");

    const std::vector<GitPin> pins = git_pins(git);

    CHECK(pin_of(pins, git + "/modules/0/hooks") != nullptr);
    CHECK(pin_of(pins, git + "/modules/255/hooks") != nullptr);
    CHECK(pin_of(pins, git + "/modules") == nullptr);
}

TEST_CASE("a repository stays protected when it is made to look like a linked worktree") {
    const test::Tree tree;
    const std::string git = tree.git(".git");
    tree.file(".git/gitdir", "/somewhere/.git\n");
    tree.file(".git/commondir", ".\n"); // as another sandbox leaves it while it runs

    CHECK(pin_of(git_pins(git), git + "/hooks") != nullptr);
}

TEST_CASE("the .git of a linked worktree leads to its directory and the common one") {
    const test::Tree tree;
    tree.git("main/.git");
    tree.file("main/.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    tree.file("main/.git/worktrees/w/commondir", "../..\n");
    tree.file("w/.git", "gitdir: ../main/.git/worktrees/w\n");

    const std::optional<Linked> linked = linked_by(tree.at("w/.git"));

    REQUIRE(linked);
    CHECK(linked->git_directory == tree.at("main/.git/worktrees/w"));
    CHECK(linked->common_directory == tree.at("main/.git"));
    CHECK_FALSE(linked_by(tree.file("bad/.git", "nonsense")));
    CHECK_FALSE(linked_by(tree.file("gone/.git", "gitdir: /does/not/exist\n")));
}

TEST_CASE("a directory below a repository is inside it, also by a .git file") {
    const test::Tree tree;
    tree.git("r/.git");
    tree.directory("r/sub/deep");
    tree.file("linked/.git", "gitdir: ../r/.git\n");
    tree.directory("linked/sub");
    tree.directory("free/.git");
    tree.directory("free/sub");

    CHECK(is_inside_repository(tree.at("r/sub/deep")));
    CHECK(is_inside_repository(tree.at("linked/sub")));
    CHECK_FALSE(is_inside_repository(tree.at("r")));
    CHECK_FALSE(is_inside_repository(tree.at("free/sub")));
}
