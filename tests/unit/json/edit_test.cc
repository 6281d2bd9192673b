#include "json/edit.h"
#include "support/testing.h"

#include <string>
#include <vector>

using ew::json::TextMember;
using ew::json::with_object;

namespace {

const std::vector<std::string> path = {"servers", "one"};
const std::vector<TextMember> members = {{"command", "\"c\""}, {"args", "[\"a\"]"}};

std::string changed(const std::string& text) {
    auto result = with_object(text, "f", path, members);
    return result ? *result : "error: " + result.error().message;
}

} // namespace

TEST_SUITE_BEGIN("json/edit");

TEST_CASE("what is missing is added, in the manner of the text") {
    CHECK(changed("") ==
          "{\n  \"servers\": {\n    \"one\": { \"command\": \"c\", \"args\": [\"a\"] "
          "}\n  }\n}\n");
    CHECK(changed("{}") == "{\n  \"servers\": {\n    \"one\": { \"command\": \"c\", \"args\": "
                           "[\"a\"] }\n  }\n}");
    CHECK(changed("{\r\n\t\"servers\": {\r\n\t\t\"two\": {}\r\n\t}\r\n}") ==
          "{\r\n\t\"servers\": {\r\n\t\t\"two\": {},\r\n\t\t\"one\": { \"command\": \"c\", "
          "\"args\": [\"a\"] }\r\n\t}\r\n}");
    CHECK(changed("{ \"servers\": { \"two\": 1 } }") ==
          "{ \"servers\": { \"two\": 1, \"one\": { \"command\": \"c\", \"args\": [\"a\"] } } }");
}

TEST_CASE("comments and trailing commas stay where they are") {
    CHECK(changed(
              "// top\n{\n  /* a */ \"servers\": { // b\n    \"two\": {}, // c\n  }, // d\n}\n") ==
          "// top\n{\n  /* a */ \"servers\": { // b\n    \"two\": {}, // c\n    \"one\": { "
          "\"command\": \"c\", \"args\": [\"a\"] },\n  }, // d\n}\n");
    CHECK(changed("{\n  \"servers\": {\n    \"two\": {} // c\n  }\n}\n") ==
          "{\n  \"servers\": {\n    \"two\": {}, // c\n    \"one\": { \"command\": \"c\", "
          "\"args\": [\"a\"] }\n  }\n}\n");
    CHECK(changed("{\n  // nothing yet\n}\n") ==
          "{\n  // nothing yet\n  \"servers\": {\n    \"one\": { \"command\": \"c\", \"args\": "
          "[\"a\"] }\n  }\n}\n");
}

TEST_CASE("an entry keeps its other members, and what is right already") {
    CHECK(changed(R"({"servers":{"one":{"command":"old","env":{"A":"1"}}}})") ==
          R"({"servers":{"one":{"command":"c","env":{"A":"1"}, "args": ["a"]}}})");
    const std::string right = R"({"servers": {"one": {"args": [ "a" ], "x": 1, "command": "c"}}})";
    CHECK(changed(right) == right);
}

TEST_CASE("a second change changes nothing") {
    for (const char* const text :
         {"", "{}", "{\n}\n", "{\"a\":1}", "{\n\t\"a\": [1,2,],\n}", "{ \"servers\": {} }",
          "{\"servers\":{\"one\":{}}}", "/**/{/**/}/**/"}) {
        const std::string once = changed(text);
        CHECK(once.find("error") == std::string::npos);
        CHECK(changed(once) == once);
    }
}

TEST_CASE("what cannot be read or changed is an error with its line") {
    for (const char* const text :
         {"[]", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1 \"b\":2}", "{\"a\":1}x", "{\"a\":tru}",
          "{'a':1}", "{\"a\":\"\n\"}", "{\"a\":01x}", "{\"servers\":1}",
          "{\"servers\":{\"one\":[]}}", "{\"servers\":{},\"servers\":{}}", "{\"a\":\"", "/*",
          "{\"a\":\"\\", "\xef\xbb\xbf{}"})
        CHECK(changed(text).starts_with("error: f:"));
    CHECK(changed("{\n\n  \"a\" 1\n}") == "error: f:3: expected a colon");
    CHECK(changed(std::string(1000, '[')).starts_with("error: f:1"));
    CHECK(changed("{\"a\":" + std::string(1000, '[')).starts_with("error: f:1"));
}

TEST_SUITE_END();
