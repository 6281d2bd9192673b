#include "core/text/patterns.h"
#include "support/testing.h"

using namespace ew::core;

TEST_CASE("a wildcard or alternatives make a pattern, and braces without a comma do not") {
    for (const char* const text : {"*.key", "/a/?", "[ab]", "{p,q}.key", "/x/{a,b}/c"})
        CHECK_MESSAGE(is_pattern(text), text);
    for (const char* const text : {"", "/a/b", "/a/{b}", "/a,b", "}a,b{", "{a,b"})
        CHECK_MESSAGE(!is_pattern(text), text);
}

TEST_CASE("the pattern for a path has nothing in it that matches more") {
    CHECK(pattern_for("/a b/c") == "/a b/c");
    CHECK(pattern_for("/{p,q}.*") == R"(/\{p,q\}.\*)");
}
