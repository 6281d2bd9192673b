#include "sandbox/plan/repositories.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

using namespace ew;
using namespace ew::sandbox;

namespace {

const GitPin* pin_of(const std::vector<GitPin>& pins, const std::string& path) {
    const auto found = std::ranges::find(pins, path, &GitPin::path);
    return found == pins.end() ? nullptr : &*found;
}

std::vector<std::string> work_trees(const test::Tree& tree, std::size_t most = 1000) {
    std::vector<std::string> names;
    const auto all = [](const std::string&) { return false; };
    for (const std::string& path : find_repositories(tree.root(), most, all).work_trees)
        names.push_back(path.substr(tree.root().size() + 1));
    return names;
}

using Names = std::vector<std::string>;

} // namespace

TEST_CASE(
    "repositories are found at any depth, in hidden and in filled directories, by name alone") {
    const test::Tree tree;
    tree.git(".git");
    tree.git("a/b/c/d/.git");
    tree.git(".hidden/.git");
    tree.git("node_modules/m/.git");
    tree.file("leaf/.git", "gitdir: ../.git/modules/leaf\n");
    tree.git("no.git");
    tree.link("link", "a");

    CHECK(work_trees(tree) == Names{".hidden", "a/b/c/d", "leaf", "node_modules/m"});
}

TEST_CASE("nothing inside a .git counts as a work tree") {
    const test::Tree tree;
    tree.git("r/.git");
    tree.directory("r/.git/x/.git");

    CHECK(work_trees(tree) == Names{"r"});
}

TEST_CASE("a search that is cut short says so, and has looked near the top first") {
    const test::Tree tree;
    tree.git("z/.git");
    for (int i = 0; i < 20; ++i)
        tree.directory("node_modules/m" + std::to_string(i) + "/x/y");
    const auto all = [](const std::string&) { return false; };

    const Repositories found = find_repositories(tree.root(), 10, all);

    CHECK_FALSE(found.is_complete);
    CHECK(found.work_trees == Names{tree.at("z")});
}

TEST_CASE("what is of no interest is not looked into") {
    const test::Tree tree;
    tree.git("secret/r/.git");
    tree.git("open/.git");
    const auto skips = [&](const std::string& path) { return path == tree.at("secret"); };

    CHECK(find_repositories(tree.root(), 1000, skips).work_trees == Names{tree.at("open")});
}

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
    CHECK(pin_of(pins, git + "/config.worktree") == nullptr);
    CHECK(pin_of(pins, git + "/info") == nullptr);
}

TEST_CASE("config.worktree is pinned where git would read it, even if it is missing") {
    const test::Tree tree;
    const std::string git = tree.git(".git");
    tree.file(".git/config", "[extensions]\n\tWorktreeConfig = true\n");

    const std::vector<GitPin> pins = git_pins(git);

    REQUIRE(pin_of(pins, git + "/config.worktree") != nullptr);
    CHECK(pin_of(pins, git + "/config.worktree")->stand_in == GitPin::StandIn::file);
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

TEST_CASE("directories that a command closed are told, and submodules in one pinned as a whole") {
    if (::geteuid() == 0) {
        MESSAGE("root may look into every directory: not tried");
        return;
    }
    const test::Tree tree;
    const std::string git = tree.git(".git");
    tree.git(".git/modules/m");
    tree.git("deep/closed/r/.git");
    tree.git("listed/r/.git");
    tree.file("leaf/.git", "gitdir: x\n");
    const auto set = [&](const std::string& name, int mode) {
        std::filesystem::permissions(tree.at(name), std::filesystem::perms(mode));
    };
    set("deep/closed", 0000);
    set("listed", 0444);
    set("leaf", 0000);
    set(".git/modules/m", 0000);
    const auto none = [](const std::string&) { return false; };

    const Repositories found = find_repositories(tree.root(), 1000, none);

    CHECK(found.unreadable == Names{tree.at("deep/closed"), tree.at("leaf"), tree.at("listed")});
    CHECK(found.work_trees.empty());
    CHECK(pin_of(git_pins(git), git + "/modules") != nullptr);
    for (const char* const name : {"deep/closed", "listed", "leaf", ".git/modules/m"})
        set(name, 0700);
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
