#include "core/text/paths.h"
#include "support/testing.h"

using namespace ew::core;

TEST_CASE("a path is cut some levels below a directory above it") {
    using ew::core::cut_below;
    CHECK(cut_below("/w/a/b/c", 2, 1) == "/w/a");
    CHECK(cut_below("/w/a/b/c", 2, 3) == "/w/a/b/c");
    CHECK(cut_below("/w/a/b/c", 2, 9) == "/w/a/b/c");
    CHECK(cut_below("/w/a", 0, 1) == "/w");
}

TEST_CASE("a path is below a directory only where a component ends") {
    CHECK(is_below("/a/b", "/a"));
    CHECK(is_below("/a", "/"));
    CHECK_FALSE(is_below("/ab", "/a"));
    CHECK_FALSE(is_below("/a", "/a"));
    CHECK_FALSE(is_below("/", "/"));
}

TEST_CASE("a path is at itself, and nothing is at or below no path") {
    CHECK(is_at_or_below("/a", "/a"));
    CHECK(is_at_or_below("/", "/"));
    CHECK_FALSE(is_at_or_below("/a", ""));
    CHECK_FALSE(is_at_or_below("", ""));
    CHECK_FALSE(is_at_or_below("a", "/"));
}

TEST_CASE("dots are resolved as text, and nothing is above the root") {
    CHECK(without_dots("/a/./b/../c") == "/a/c");
    CHECK(without_dots("//a//") == "/a");
    CHECK(without_dots("/..") == "/");
    CHECK(without_dots("/a/../../b") == "/b");
    CHECK(without_dots("") == "/");
}

TEST_CASE("paths are put together and taken apart at their slashes") {
    CHECK(joined("/", "a") == "/a");
    CHECK(joined("/a", "") == "/a");
    CHECK(parent_of("/a/b") == "/a");
    CHECK(parent_of("/a") == "/");
    CHECK(parent_of("/") == "/");
}

TEST_CASE("a path that cannot be looked at is taken as written, if that says where it leads") {
    CHECK(path_as_written("/a//b/./c/") == "/a/b/c");
    CHECK(path_as_written("/") == "/");
    CHECK(path_as_written("/a..b/..c") == "/a..b/..c");
    CHECK(!path_as_written("/a/../b"));
    CHECK(!path_as_written("/.."));
    CHECK(!path_as_written(std::string("/a\0b", 4)));
}
