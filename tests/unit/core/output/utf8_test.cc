#include "core/output/utf8.h"
#include "support/slow_utf8.h"
#include "support/testing.h"

#include <array>
#include <string>

using ew::core::unfinished_tail;

namespace {

// Each kind of byte with the edges of its range.
constexpr std::array<unsigned char, 25> representative = {
    0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf,
    0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};

std::string combination(std::size_t number, std::size_t size) {
    std::string bytes;
    for (; bytes.size() < size; number /= representative.size())
        bytes += static_cast<char>(representative[number % representative.size()]);
    return bytes;
}

} // namespace

TEST_SUITE_BEGIN("core/utf8");

TEST_CASE("text that ends with a whole character has no unfinished tail") {
    CHECK(unfinished_tail("") == 0);
    CHECK(unfinished_tail("abc") == 0);
    CHECK(unfinished_tail("caf\xc3\xa9") == 0);
}

TEST_CASE("the beginning of a character is an unfinished tail") {
    CHECK(unfinished_tail("caf\xc3") == 1);
    CHECK(unfinished_tail("\xe2\x82") == 2);
    CHECK(unfinished_tail("\xf0\x9f\x98") == 3);
}

TEST_CASE("bytes that cannot become a character are not waited for") {
    CHECK(unfinished_tail("\xc0") == 0);
    CHECK(unfinished_tail("\xff") == 0);
    CHECK(unfinished_tail("\xed\xa0") == 0); // half of a surrogate
    CHECK(unfinished_tail("\xf4\x90") == 0); // above U+10FFFF
    CHECK(unfinished_tail("\x80\x80\x80") == 0);
}

TEST_CASE("every ending of up to four bytes is judged as by looking up all characters") {
    const ew::test::SlowUtf8 slow;
    std::size_t count = 1;
    for (std::size_t size = 1; size <= 4; ++size) {
        count *= representative.size();
        for (std::size_t number = 0; number < count; ++number) {
            const std::string bytes = combination(number, size);
            if (unfinished_tail(bytes) == slow.unfinished_tail(bytes)) continue;
            INFO("bytes: " << number << " of size " << size);
            REQUIRE(unfinished_tail(bytes) == slow.unfinished_tail(bytes));
        }
    }
}

TEST_CASE("every split of every character leaves exactly its beginning unfinished") {
    for (std::uint32_t code_point = 0; code_point <= 0x10ffff; ++code_point) {
        if (ew::test::is_surrogate(code_point)) continue;
        const std::string character = ew::test::encoded(code_point);
        for (std::size_t size = 1; size <= character.size(); ++size) {
            const std::size_t expected = size == character.size() ? 0 : size;
            if (unfinished_tail(std::string_view(character).substr(0, size)) == expected) continue;
            INFO("code point " << code_point << " cut after " << size);
            REQUIRE(unfinished_tail(std::string_view(character).substr(0, size)) == expected);
        }
    }
}

TEST_SUITE_END();
