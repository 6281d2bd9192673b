#include "core/text/canonical.h"
#include "support/testing.h"

using ew::core::decomposed;

TEST_SUITE_BEGIN("core/text/canonical");

TEST_CASE("characters are taken apart into letters and accents, whatever their order") {
    CHECK(decomposed("caf\u00e9") == "cafe\u0301");
    CHECK(decomposed("cafe\u0301") == "cafe\u0301");
    CHECK(decomposed("\u1ec7") == "e\u0323\u0302"); // two levels
    CHECK(decomposed("q\u0307\u0323") == "q\u0323\u0307");
    CHECK(decomposed("\u212b") == "A\u030a"); // one character that stands for another
    CHECK(decomposed("\uac01\uac00") == "\u1100\u1161\u11a8\u1100\u1161");
    CHECK(decomposed("\U0001d15e") == "\U0001d157\U0001d165");
}

TEST_CASE("what is not equivalent, or not UTF-8, stays") {
    for (const char* text :
         {"", "plain", "\u00df \ufb01 \u00bd", "\xff\xc3", "\u0301", "\U0001f600"})
        CHECK(decomposed(text) == text);
    CHECK(decomposed("\u00e9\xff\u00e9") == "e\u0301\xff"
                                            "e\u0301");
}
