#include "sandbox/plan/repositories.h"
#include "sandbox/policy/glob.h"
#include "sandbox/walk/walk.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

using namespace ew;
using namespace ew::sandbox;

namespace {

using Names = std::vector<std::string>;

WalkFindings walked(const WalkOrder& order, std::size_t most = most_directories) {
    Walk walk(order, most);
    REQUIRE(walk.go_on(TimePoint::max()));
    return walk.findings();
}

Names below(const test::Tree& tree, const Names& paths) {
    Names names;
    for (const std::string& path : paths)
        names.push_back(path.substr(tree.root().size() + 1));
    return names;
}

Names work_trees(const test::Tree& tree) {
    return below(tree, walked({{tree.root()}, {}, {}}).work_trees);
}

WalkPattern pattern(const std::string& base, std::string_view text,
                    std::optional<std::uint64_t> depth = {}) {
    Result<std::vector<Glob>> globs = parse_glob(text);
    REQUIRE(globs);
    return {base, globs->front().parts, depth};
}

Names found(const test::Tree& tree, std::string_view text,
            std::optional<std::uint64_t> depth = {}) {
    return below(tree, walked({{}, {pattern(tree.root(), text, depth)}, {}}).matches[0]);
}

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

TEST_CASE("one walk finds repositories and the matches of all patterns, in roots in one another") {
    const test::Tree tree;
    tree.git("in/r/.git");
    tree.git("in/.git");
    tree.file("in/r/key.pem");
    tree.file("in/r/.env");
    tree.file("out/.env");
    const std::string inner = tree.at("in");

    const WalkFindings all = walked(
        {{tree.root(), inner},
         {pattern(tree.root(), "**/.env"), pattern(inner, "**/*.pem"), pattern(inner, "*.pem")},
         {}});

    CHECK(below(tree, all.work_trees) == Names{"in", "in/r"});
    CHECK(below(tree, all.matches[0]) == Names{"in/r/.env", "out/.env"});
    CHECK(below(tree, all.matches[1]) == Names{"in/r/key.pem"});
    CHECK(all.matches[2].empty());
    CHECK(all.unsearched.empty());
}

TEST_CASE("a walk that is cut short names what is left, and has looked near the top first") {
    const test::Tree tree;
    tree.git("z/.git");
    for (int i = 0; i < 20; ++i)
        tree.directory("node_modules/m" + std::to_string(i) + "/x/y");

    const WalkFindings found = walked({{tree.root()}, {pattern(tree.root(), "**/.env")}, {}}, 10);

    CHECK_FALSE(found.unsearched.empty());
    CHECK_FALSE(found.is_late);
    CHECK(std::ranges::all_of(found.unsearched, [&](const LeftOut& each) {
        return each.path.starts_with(tree.at("node_modules")) && each.is_in_root &&
               each.patterns == std::vector<std::uint32_t>{0};
    }));
    CHECK(found.work_trees == Names{tree.at("z")});
}

TEST_CASE("a walk that has no more time tells what is left, and can go on") {
    const test::Tree tree;
    for (int i = 0; i < 200; ++i)
        tree.git("d" + std::to_string(i) + "/.git");
    const WalkOrder order = {{tree.root()}, {}, {}};
    Walk walk(order);

    const bool is_done = walk.go_on(TimePoint::min());
    const WalkFindings first = walk.findings();

    CHECK_FALSE(is_done);
    CHECK(first.is_late);
    CHECK_FALSE(first.unsearched.empty());
    REQUIRE(walk.go_on(TimePoint::max()));
    CHECK(walk.findings() == walked(order));
}

TEST_CASE("what is closed is not searched for repositories, but for what patterns match") {
    const test::Tree tree;
    tree.git("closed/r/.git");
    tree.file("closed/r/.env");
    tree.git("closed/root/r/.git");
    tree.git("open/.git");

    const WalkFindings found = walked({{tree.root(), tree.at("closed/root")},
                                       {pattern(tree.root(), "**/.env")},
                                       {tree.at("closed")}});

    CHECK(below(tree, found.work_trees) == Names{"closed/root/r", "open"});
    CHECK(below(tree, found.matches[0]) == Names{"closed/r/.env"});
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

    const WalkFindings found = walked({{tree.root()}, {}, {}});

    Names unreadable;
    for (const LeftOut& each : found.unreadable)
        unreadable.push_back(each.path);
    CHECK(unreadable == Names{tree.at("deep/closed"), tree.at("leaf"), tree.at("listed")});
    CHECK(found.work_trees.empty());
    const std::vector<GitPin> pins = git_pins(git);
    CHECK(std::ranges::find(pins, git + "/modules", &GitPin::path) != pins.end());
    for (const char* const name : {"deep/closed", "listed", "leaf", ".git/modules/m"})
        set(name, 0700);
}

TEST_CASE("what exists and matches is found at any depth, hidden names included") {
    const test::Tree tree;
    tree.file("top.env");
    tree.file("a/.b/deep.env");
    tree.file("a/x.txt");
    tree.file("node_modules/m/.env");
    tree.link("link.env", "/etc/passwd");
    tree.link("loop", ".");

    CHECK(found(tree, "**/*.env") ==
          Names{"a/.b/deep.env", "link.env", "node_modules/m/.env", "top.env"});
    CHECK(found(tree, "*/*.txt") == Names{"a/x.txt"});
    CHECK(found(tree, "a/**") == Names{"a/.b", "a/x.txt"});
    CHECK(found(tree, "**/.b/*") == Names{"a/.b/deep.env"});
    CHECK(found(tree, "**/[d]eep.*") == Names{"a/.b/deep.env"});
    CHECK(found(tree, "a/**/*.env") == Names{"a/.b/deep.env"});
}

TEST_CASE("nothing is looked for below a match, nor deeper than is asked for") {
    const test::Tree tree;
    tree.file("a.d/b.d/x");
    tree.file("one/two/c.d/x");

    CHECK(found(tree, "**/*.d") == Names{"a.d", "one/two/c.d"});
    CHECK(found(tree, "**/*.d", 1) == Names{"a.d"});
}

TEST_CASE("of a directory with too many matches, enough are told to know that") {
    const test::Tree tree;
    for (std::size_t i = 0; i < most_matches + 10; ++i)
        tree.file("many/" + std::to_string(i));

    CHECK(found(tree, "many/*").size() == most_matches + 1);
}
