#include "json/parser.h"
#include "support/parsed.h"
#include "support/testing.h"

#include <string>
#include <string_view>

using ew::ErrorKind;
using ew::test::Parsed;

namespace {

std::string nested(std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
}

std::string list_of(std::size_t count, std::string_view value) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i)
        text.append(i == 0 ? "" : ",").append(value);
    return text + "]";
}

ErrorKind kind_of_failure(std::string_view text) {
    Parsed parsed(text);
    REQUIRE_FALSE(parsed.is_json());
    return parsed.error().kind;
}

} // namespace

TEST_SUITE_BEGIN("json/parser");

TEST_CASE("JSON is parsed, blanks around it included") {
    CHECK(Parsed(R"( {"a": [1, 2.5, "x", null, true]} )").is_json());
    CHECK(Parsed("5").is_json());
}

TEST_CASE("a depth of 64 is parsed, one of 65 is beyond the limit") {
    CHECK(Parsed(nested(64)).is_json());
    CHECK(kind_of_failure(nested(65)) == ErrorKind::limit);
    CHECK(kind_of_failure(nested(10'000)) == ErrorKind::limit);
}

TEST_CASE("objects count for the depth like arrays") {
    std::string text = "1";
    for (int depth = 0; depth < 64; ++depth)
        text = "{\"a\":" + text + "}";
    CHECK(Parsed(text).is_json());

    CHECK(kind_of_failure("[" + text + "]") == ErrorKind::limit);
}

TEST_CASE("as many values as the limit are parsed") {
    CHECK(Parsed(list_of(9, "10"), {.values = 10}).is_json());
    CHECK(Parsed(list_of(262'143, "1")).is_json());
}

TEST_CASE("more values than the limit are refused, and the error names it") {
    Parsed parsed(list_of(10, "10"), {.values = 10});

    REQUIRE_FALSE(parsed.is_json());
    CHECK(parsed.error().kind == ErrorKind::limit);
    CHECK(parsed.error().message == "the message has more than 10 values");
    CHECK(kind_of_failure(list_of(300'000, "1")) == ErrorKind::limit);
}

TEST_CASE("values are counted exactly, empty and one-digit ones too") {
    for (const std::string_view value : {"[]", "{}", "1", "\"\"", "[1]"}) {
        const std::size_t each = std::string_view(value) == "[1]" ? 2 : 1;
        CAPTURE(value);
        CHECK(Parsed(list_of(10, value), {.values = 10 * each + 1}).is_json());
        CHECK_FALSE(Parsed(list_of(10, value), {.values = 10 * each}).is_json());
    }
}

TEST_CASE("commas and brackets inside strings are no values") {
    CHECK(Parsed(R"(["[[[[{{{{,,,,,,,,\",,,,"])", {.values = 2}).is_json());
}

TEST_CASE("a megabyte in one string is one value") {
    CHECK(Parsed("\"" + std::string(1 << 20, ',') + "\"", {.values = 1}).is_json());
}

TEST_CASE("what is not JSON is a parse error") {
    for (const std::string_view text :
         {"",    "  ",     "{",       "}",    "[1,]",  "{\"a\":}",  "{'a':1}",  "nul",
          "01",  "1.",     ".5",      "+1",   "-",     "1e",        "NaN",      "Infinity",
          "\"a", "\"\t\"", "\"\\x\"", "// a", "[1 2]", "{\"a\" 1}", "[\"a\":1]"}) {
        CAPTURE(text);
        CHECK(kind_of_failure(text) == ErrorKind::parse);
    }
}

TEST_CASE("text behind a value is a parse error") {
    for (const std::string_view text : {"{} {}", "{}x", "1 2", "[],", "{}]"}) {
        CAPTURE(text);
        CHECK(kind_of_failure(text) == ErrorKind::parse);
    }
}

TEST_CASE("a NUL byte outside of strings and in them is a parse error") {
    CHECK(kind_of_failure(std::string_view("{}\0", 3)) == ErrorKind::parse);
    CHECK(kind_of_failure(std::string_view("\"\0\"", 3)) == ErrorKind::parse);
}

TEST_CASE("text that is not UTF-8 is a parse error that says so") {
    for (const std::string_view text : {"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"",
                                        "\"\xf4\x90\x80\x80\"", "\"\xc0\x80\"", "\xff"}) {
        CAPTURE(text);
        Parsed parsed(text);
        REQUIRE_FALSE(parsed.is_json());
        CHECK(parsed.error().kind == ErrorKind::parse);
        CHECK(parsed.error().message == "the message is not valid UTF-8");
    }
}

TEST_CASE("a surrogate pair is a character, half of one is a parse error") {
    Parsed pair(R"("\ud83d\ude00")");
    REQUIRE(pair.is_json());
    CHECK(pair.string() == "\xf0\x9f\x98\x80");

    for (const std::string_view text :
         {R"("\ud83d")", R"("\ud83dx")", R"("\ude00")", R"("\ud83d\u0041")"}) {
        CAPTURE(text);
        CHECK(kind_of_failure(text) == ErrorKind::parse);
    }
}

TEST_CASE("a byte order mark before a message is a parse error") {
    CHECK(kind_of_failure("\xef\xbb\xbf{}") == ErrorKind::parse);
}

TEST_CASE("numbers go to the limits of 64 bits; larger ones become a fraction in their place") {
    CHECK(Parsed("18446744073709551615").is_json());
    CHECK(Parsed("-9223372036854775808").is_json());
    for (const std::string_view text :
         {"18446744073709551616", "-9223372036854775809", "1e999", "9e309", "-1e309",
          R"(["1-\"",-0.0E+1,1234567890123456789012345678901234567890,"1e999"])"}) {
        CAPTURE(text);
        CHECK(Parsed(text).is_json());
    }
    Parsed replaced("[5,1e999,18446744073709551616,7,1e-999]");
    CHECK(std::string(simdjson::minify(replaced.element())) == "[5,9e+99,9e+99,7,0.0]");
}

TEST_CASE("a malformed number is a parse error, also beside one that is too large") {
    for (const std::string_view text :
         {"[18446744073709551616,01]", "[-]", "1e+", "1.e5", "00", "--1", "1e5.5"}) {
        CAPTURE(text);
        CHECK(kind_of_failure(text) == ErrorKind::parse);
    }
}

TEST_CASE("a parser goes on after an error and after a large text") {
    ew::json::Parser parser;
    ew::ByteBuffer good;
    good.append("[1]");
    ew::ByteBuffer bad;
    bad.append("[");
    ew::ByteBuffer large;
    large.append("\"" + std::string(3 << 20, 'x') + "\"");

    for (int round = 0; round < 3; ++round) {
        CHECK(parser.parse(good.view()));
        CHECK_FALSE(parser.parse(bad.view()));
        CHECK(parser.parse(large.view()));
    }
}

TEST_SUITE_END();
