#include "sandbox/plan/glob_expansion.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

using namespace ew;
using namespace ew::sandbox;

namespace {

std::vector<Glob> parsed(std::string_view pattern) {
    Result<std::vector<Glob>> globs = parse_glob(pattern);
    REQUIRE(globs);
    return *globs;
}

std::vector<std::string> found(const test::Tree& tree, std::string_view pattern,
                               const GlobBounds& bounds = {}) {
    std::vector<std::string> names;
    for (const std::string& path : expand(tree.root(), parsed(pattern).front().parts, bounds).paths)
        names.push_back(path.substr(tree.root().size() + 1));
    return names;
}

using Names = std::vector<std::string>;

} // namespace

TEST_CASE("a pattern begins where its first wildcard is") {
    CHECK(parsed("/a//./b/*.c/d") == std::vector{Glob{"/a/b", {"*.c", "d"}}});
    CHECK(parsed("/a/b") == std::vector{Glob{"/a/b", {}}});
    CHECK(parsed("**/**/x") == std::vector{Glob{"", {"**", "x"}}});
    CHECK(parsed("/a/\\*b/c*") == std::vector{Glob{"/a/*b", {"c*"}}});
}

TEST_CASE("braces stand for each of their alternatives, also within others") {
    CHECK(parsed("/a/{b,c{d,e}}/*") ==
          std::vector{Glob{"/a/b", {"*"}}, Glob{"/a/cd", {"*"}}, Glob{"/a/ce", {"*"}}});
}

TEST_CASE("a pattern that cannot be expanded is refused") {
    for (const std::string_view pattern :
         {"", ".", "/a/[b", "/a/{b", "/[!]", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"})
        CHECK_MESSAGE(!parse_glob(pattern), pattern);
    CHECK_FALSE(parse_glob(std::string_view("/a\0*", 4)));
}

TEST_CASE("wildcards match within one name") {
    CHECK(matches("*", ".hidden"));
    CHECK(matches("*.env", ".env"));
    CHECK(matches("a*b*c", "axxbyybzc"));
    CHECK_FALSE(matches("a*b*c", "axxbyybz"));
    CHECK(matches("?", "x"));
    CHECK_FALSE(matches("?", ""));
    CHECK(matches("[a-c]x", "bx"));
    CHECK_FALSE(matches("[!a-c]x", "bx"));
    CHECK(matches("[]x]", "]"));
    CHECK(matches("\\*", "*"));
    CHECK_FALSE(matches("\\*", "x"));
    CHECK(matches("**", "anything"));
}

TEST_CASE("many stars do not take many times as long") {
    CHECK_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*b", std::string(2000, 'a')));
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
}

TEST_CASE("nothing is looked for below a match, nor deeper than is asked for") {
    const test::Tree tree;
    tree.file("a.d/b.d/x");
    tree.file("one/two/c.d/x");
    GlobBounds bounds;
    bounds.depth = 1;

    CHECK(found(tree, "**/*.d") == Names{"a.d", "one/two/c.d"});
    CHECK(found(tree, "**/*.d", bounds) == Names{"a.d"});
}

TEST_CASE("a search that reaches a bound says so") {
    const test::Tree tree;
    for (const char* name : {"a/1", "a/2", "b/3"})
        tree.file(name);
    GlobBounds few_matches;
    few_matches.matches = 2;
    GlobBounds few_directories;
    few_directories.directories = 2;

    CHECK_FALSE(expand(tree.root(), {"*", "*"}, few_matches).is_complete);
    CHECK_FALSE(expand(tree.root(), {"*", "*"}, few_directories).is_complete);
    CHECK(expand(tree.root(), {"*", "*"}, {}).is_complete);
}
