#include "support/testing.h"
#include "toml/edit.h"

#include <optional>
#include <string>

using ew::toml::Edit;
using ew::toml::Value;

namespace {

Edit open(const std::string& text) {
    auto edit = Edit::open(text, "f.toml");
    REQUIRE(edit);
    return std::move(*edit);
}

Value text(const char* value) {
    return {std::string(value), {}};
}

} // namespace

TEST_SUITE_BEGIN("toml/edit");

TEST_CASE("a block at the end has the line ends of the text") {
    const std::string before = "a = 1\r\n[[b]]\r\nc = 2";
    Edit edit = open(before);

    edit.append("[[b]]\nc = 3\n");

    CHECK(edit.result() == before + "\r\n\r\n[[b]]\r\nc = 3\r\n");
}

TEST_CASE("a key at the top goes before everything but what is above it") {
    const std::string before = "# mine\n\n# about b\n[[b]]\nc = 2\n";
    Edit edit = open(before);

    REQUIRE(edit.set({"a", text("x"), {}}));

    CHECK(edit.result() == "# mine\n\na = \"x\"\n\n# about b\n[[b]]\nc = 2\n");
}

TEST_CASE("only the value of a key is replaced, and keys that are missing come behind another") {
    const std::string before = "[[b]]\n  id = 'x' # one\n  c = [ 'old', # why\n  ] # two\n";
    Edit edit = open(before);

    REQUIRE(edit.set("b", 0, {"c", text("new"), {}}, "id"));
    REQUIRE(edit.set("b", 0, {"d", text("1"), {}}, "id"));
    REQUIRE(edit.set("b", 0, {"e", text("2"), {}}, "id"));

    CHECK(edit.result() ==
          "[[b]]\n  id = 'x' # one\n  d = \"1\"\n  e = \"2\"\n  c = \"new\" # two\n");
}

TEST_CASE("a value that is neither text nor a list is not replaced") {
    const std::string before = "a = 1\n";
    Edit edit = open(before);

    auto set = edit.set({"a", text("x"), {}});

    REQUIRE_FALSE(set);
    CHECK(set.error().message == "f.toml: line 1: 'a' cannot be replaced");
}

TEST_CASE("a block goes with its own comment, and no other does") {
    const std::string before = "# top\n\n# Mine: x\n[[b]]\nc = 1\n\n# next\n[[b]]\nc = 2\n";
    Edit edit = open(before);

    REQUIRE(edit.remove("b", 0, "# Mine"));

    CHECK(edit.result() == "# top\n\n# next\n[[b]]\nc = 2\n");
}

TEST_CASE("a change that would change more is not made") {
    const std::string before = "b = [{ c = 1 }]\n";
    Edit edit = open(before);

    CHECK_FALSE(edit.remove("b", 0, "#"));
    edit.append("[[b]]\nc = 2\n");

    CHECK_FALSE(edit.result());
}

TEST_SUITE_END();
