#include "json/base64.h"
#include "support/random.h"
#include "support/testing.h"

#include <string>
#include <string_view>

using ew::json::base64_size;
using ew::json::decode_base64;

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string encoded(std::string_view bytes) {
    constexpr std::size_t spill = 4;
    std::string text(base64_size(bytes.size()) + spill, '#');
    ew::json::encode_base64(bytes, text.data());
    text.resize(base64_size(bytes.size()));
    return text;
}

// One bit after the other.
std::string slowly_encoded(std::string_view bytes) {
    const auto bit = [&](std::size_t index) {
        return (static_cast<unsigned char>(bytes[index / 8]) >> (7 - index % 8)) & 1U;
    };
    std::string text;
    for (std::size_t at = 0; at < bytes.size() * 8; at += 6) {
        std::size_t value = 0;
        for (std::size_t i = 0; i < 6; ++i)
            value = value * 2 + (at + i < bytes.size() * 8 ? bit(at + i) : 0U);
        text += alphabet[value];
    }
    while (text.size() % 4 != 0)
        text += '=';
    return text;
}

} // namespace

TEST_SUITE_BEGIN("json/base64");

TEST_CASE("the examples of RFC 4648 come out as written there") {
    CHECK(encoded("").empty());
    CHECK(encoded("f") == "Zg==");
    CHECK(encoded("fo") == "Zm8=");
    CHECK(encoded("foo") == "Zm9v");
    CHECK(encoded("foob") == "Zm9vYg==");
    CHECK(encoded("fooba") == "Zm9vYmE=");
    CHECK(encoded("foobar") == "Zm9vYmFy");
}

TEST_CASE("every one- and two-byte text survives the way there and back") {
    for (unsigned value = 0; value < 65536; ++value) {
        const std::string two = {static_cast<char>(value >> 8), static_cast<char>(value & 0xff)};
        const std::string one = two.substr(1);
        if (encoded(two) == slowly_encoded(two) && decode_base64(encoded(two)) == two &&
            encoded(one) == slowly_encoded(one) && decode_base64(encoded(one)) == one)
            continue;
        CAPTURE(value);
        REQUIRE(false);
    }
}

TEST_CASE("every length up to the end of three vector blocks is encoded as bit by bit") {
    ew::test::Random random(2);
    for (std::size_t size = 0; size <= 200; ++size) {
        const std::string bytes = random.bytes(size);
        CAPTURE(size);
        REQUIRE(encoded(bytes) == slowly_encoded(bytes));
    }
}

TEST_CASE("large random bytes are encoded as bit by bit and decoded to themselves") {
    ew::test::Random random(3);
    for (int round = 0; round < 20; ++round) {
        const std::string bytes = random.bytes(1000 + random.below(70'000));
        const std::string text = encoded(bytes);
        REQUIRE((text == slowly_encoded(bytes)));
        REQUIRE((decode_base64(text) == bytes));
    }
}

TEST_CASE("every six-bit value has its letter in every place of a vector block") {
    for (std::size_t value = 0; value < 64; ++value) {
        const std::string text(128, alphabet[value]);
        const std::optional<std::string> bytes = decode_base64(text);
        REQUIRE(bytes.has_value());
        REQUIRE(encoded(*bytes) == text);
    }
}

TEST_CASE("nothing is written further than four bytes beyond the end") {
    ew::test::Random random(4);
    for (std::size_t size = 0; size <= 150; ++size) {
        std::string text(base64_size(size) + 12, '#');
        ew::json::encode_base64(random.bytes(size), text.data());
        CAPTURE(size);
        REQUIRE(text.substr(base64_size(size) + 4) == "########");
    }
}

TEST_CASE("what is not standard base64 is refused") {
    for (const std::string_view text :
         {"Z", "Zg", "Zg=", "Zm9vY", "Zg= =", "Zg==\n", " Zg==", "Z-8=", "Z_8=", "====", "A===",
          "=Zg=", "Zg==Zg==", "Zm=v", "Zm9v====", "Z\xc3\xa9=", "Zm9*"}) {
        CAPTURE(text);
        CHECK_FALSE(decode_base64(text).has_value());
    }
    CHECK_FALSE(decode_base64(std::string_view("Zm9\0", 4)).has_value());
}

TEST_CASE("bits that belong to no byte must be zero") {
    CHECK(decode_base64("/w==") == "\xff");
    for (const std::string_view text : {"/x==", "//==", "Zh==", "Zm9=", "Zm+="}) {
        CAPTURE(text);
        CHECK_FALSE(decode_base64(text).has_value());
    }
}

TEST_CASE("each of the 256 bytes is a letter of the alphabet or refused, in every place") {
    for (unsigned value = 0; value < 256; ++value) {
        const char c = static_cast<char>(value);
        const bool is_letter = alphabet.find(c) != std::string_view::npos;
        for (std::size_t place = 0; place < 4; ++place) {
            std::string text = "AAAAAAAA";
            text[place] = c;
            CAPTURE(value);
            REQUIRE(decode_base64(text).has_value() == is_letter);
        }
    }
}

TEST_SUITE_END();
