#include "sandbox/policy/glob.h"
#include "support/testing.h"

#include <string>
#include <string_view>
#include <vector>

using namespace ew;
using namespace ew::sandbox;

namespace {

std::vector<Glob> parsed(std::string_view pattern) {
    Result<std::vector<Glob>> globs = parse_glob(pattern);
    REQUIRE(globs);
    return *globs;
}

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
