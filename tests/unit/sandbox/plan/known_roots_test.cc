#include "sandbox/plan/known_roots.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <filesystem>

using namespace ew;
using namespace ew::sandbox;

TEST_CASE("a root that has become another directory, or a link to one, is not the known one") {
    const test::Tree tree;
    const std::string root = tree.directory("root");
    const std::string other = tree.directory("other");
    const std::vector<os::KnownDirectory> nothing;
    KnownRoots first(nothing);
    REQUIRE(first.agree(root, locate(root)));
    const std::vector<os::KnownDirectory> known = first.take_new();

    CHECK(KnownRoots(known).agree(root, locate(root)));
    std::filesystem::rename(root, tree.at("moved"));
    tree.directory("root");
    CHECK_FALSE(KnownRoots(known).agree(root, locate(root)));
    std::filesystem::remove(root);
    tree.link("root", "other");
    CHECK_FALSE(KnownRoots(known).agree(root, locate(root)));
    tree.link("again", "moved");
    CHECK_FALSE(KnownRoots(known).agree(root, locate(tree.at("again"))));
}

TEST_CASE("more roots than can be known are refused, and those that are known are not") {
    const test::Tree tree;
    const std::vector<os::KnownDirectory> nothing;
    KnownRoots roots(nothing);
    const auto name = [&](std::size_t i) { return tree.directory(std::to_string(i)); };

    for (std::size_t i = 0; i < most_roots; ++i)
        CHECK(roots.agree(name(i), locate(name(i))));

    CHECK_FALSE(roots.agree(name(most_roots), locate(name(most_roots))));
    CHECK(roots.agree(name(0), locate(name(0))));
}
