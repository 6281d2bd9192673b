#include "sandbox/plan/repositories.h"
#include "sandbox/plan/repository_search.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

using namespace ew;
using namespace ew::sandbox;

namespace {

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

TEST_CASE("work trees in a .git are found, but not among what is git's own") {
    const test::Tree tree;
    tree.git("r/.git");
    tree.directory("r/.git/objects/.git");
    tree.directory("r/.git/refs/x/.git");
    tree.directory("r/.git/wt/feature/deep/.git");

    CHECK(work_trees(tree) == Names{"r", "r/.git/wt/feature/deep"});
}

TEST_CASE("a search that is cut short names what is left, and has looked near the top first") {
    const test::Tree tree;
    tree.git("z/.git");
    for (int i = 0; i < 20; ++i)
        tree.directory("node_modules/m" + std::to_string(i) + "/x/y");
    const auto all = [](const std::string&) { return false; };

    const Repositories found = find_repositories(tree.root(), 10, all);

    CHECK_FALSE(found.unsearched.empty());
    CHECK(std::ranges::all_of(found.unsearched, [&](const std::string& path) {
        return path.starts_with(tree.at("node_modules"));
    }));
    CHECK(found.work_trees == Names{tree.at("z")});
}

TEST_CASE("what is of no interest is not looked into") {
    const test::Tree tree;
    tree.git("secret/r/.git");
    tree.git("open/.git");
    const auto skips = [&](const std::string& path) { return path == tree.at("secret"); };

    CHECK(find_repositories(tree.root(), 1000, skips).work_trees == Names{tree.at("open")});
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
    const std::vector<GitPin> pins = git_pins(git);
    CHECK(std::ranges::find(pins, git + "/modules", &GitPin::path) != pins.end());
    for (const char* const name : {"deep/closed", "listed", "leaf", ".git/modules/m"})
        set(name, 0700);
}
