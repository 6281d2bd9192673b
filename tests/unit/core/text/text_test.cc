#include "core/text/text.h"
#include "support/random.h"
#include "support/slow_utf8.h"
#include "support/testing.h"

#include <string>

using ew::core::append_lossy;
using ew::core::first_character;
using ew::core::lossy;
using ew::core::valid_prefix;

TEST_SUITE_BEGIN("core/text");

TEST_CASE("valid text stays as it is") {
    CHECK(lossy("") == "");
    CHECK(lossy("plain text that is longer than a word of the machine") ==
          "plain text that is longer than a word of the machine");
    CHECK(lossy("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80") ==
          "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    CHECK(lossy(std::string("a\0b", 3)) == std::string("a\0b", 3));
}

TEST_CASE("each maximal invalid subpart becomes one replacement character") {
    // The example of table 3-8 of the Unicode standard.
    CHECK(lossy("\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64") == "a���b�c��d");
    CHECK(lossy("\xc0\xaf") == "��");           // overlong
    CHECK(lossy("\xe0\x80\xaf") == "���");      // overlong
    CHECK(lossy("\xed\xa0\x80") == "���");      // half of a surrogate pair
    CHECK(lossy("\xf4\x90\x80\x80") == "����"); // above U+10FFFF
    CHECK(lossy("\xff\xfe") == "��");
}

TEST_CASE("a character that is cut off at the end becomes one replacement character") {
    CHECK(lossy("a\xc3") == "a�");
    CHECK(lossy("a\xe2\x82") == "a�");
    CHECK(lossy("a\xf0\x9f\x98") == "a�");
}

TEST_CASE("lossy text can be appended") {
    std::string text = "so far: ";

    append_lossy(text, "x\x80y");

    CHECK(text == "so far: x�y");
}

TEST_CASE("every character is read as its code point") {
    for (char32_t code_point = 0; code_point <= 0x10ffff; ++code_point) {
        if (ew::test::is_surrogate(code_point)) continue;
        const std::string bytes = ew::test::encoded(code_point);
        const ew::core::Character character = first_character(bytes + "x");
        const bool is_right = character.is_valid && character.size == bytes.size() &&
                              character.code_point == code_point;
        if (is_right) continue;
        INFO("code point " << static_cast<std::uint32_t>(code_point));
        REQUIRE(is_right);
    }
}

TEST_CASE("whatever goes in, what comes out is valid and stays the same") {
    ew::test::Random random(1);
    for (int round = 0; round < 20000; ++round) {
        std::string bytes(random.below(12), ' ');
        for (char& byte : bytes)
            byte = static_cast<char>(random.below(3) == 0 ? random.below(128)
                                                          : 128 + random.below(128));

        const std::string text = lossy(bytes);

        REQUIRE(valid_prefix(text) == text.size());
        REQUIRE(lossy(text) == text);
    }
}

TEST_CASE("the valid part at the front ends before the first bad byte") {
    CHECK(valid_prefix("") == 0);
    CHECK(valid_prefix("abcdefghijkl\xff") == 12);
    CHECK(valid_prefix("\xc3\xa9\xc3") == 2);
    CHECK(valid_prefix("\x80") == 0);
}

TEST_SUITE_END();
