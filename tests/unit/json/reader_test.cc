#include "json/reader.h"
#include "support/parsed.h"
#include "support/testing.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace {

enum class Color : std::uint8_t { red, green };

struct Point {
    std::uint64_t x = 0;
    std::uint64_t y = 0;
};

template <class Visitor>
void fields(Visitor& visit, Point& point) {
    constexpr ew::json::Bounds small = {1, 10};
    visit.required("x", point.x, small);
    visit.required("y", point.y);
}

struct Shape {
    std::string name = {};
    bool is_filled = false;
    Color color = Color::red;
    std::vector<Point> points = {};
    std::optional<Point> center = {};
    std::vector<std::string> tags = {};
    ew::json::Bytes data = {};
    ew::json::Path file = {};
    ew::json::StringMap labels = {};
    std::optional<std::int64_t> delta = {};
};

template <class Visitor>
void fields(Visitor& visit, Shape& shape) {
    constexpr ew::json::Bounds not_empty = {1};
    visit.required("name", shape.name, not_empty);
    visit.optional("filled", shape.is_filled);
    visit.optional("color", shape.color);
    visit.optional("points", shape.points);
    visit.optional("center", shape.center);
    visit.optional("tags", shape.tags, not_empty);
    visit.optional("data", shape.data);
    visit.optional("file", shape.file);
    visit.optional("labels", shape.labels);
    visit.optional("delta", shape.delta);
}

} // namespace

namespace ew::json {

template <>
struct Names<Color> {
    static constexpr std::array<std::string_view, 2> list = {"red", "green"};
};

} // namespace ew::json

namespace {

Shape read(std::string_view json) {
    ew::test::Parsed parsed(json);
    REQUIRE(parsed.is_json());
    Shape shape;
    const std::optional<ew::json::Mismatch> wrong =
        ew::json::read_value(parsed.element(), shape, {});
    if (wrong) FAIL(wrong->path << " " << wrong->expected);
    return shape;
}

// What is wrong, as "path: expectation".
std::string wrong(std::string_view json) {
    ew::test::Parsed parsed(json);
    REQUIRE(parsed.is_json());
    Shape shape;
    const std::optional<ew::json::Mismatch> outcome =
        ew::json::read_value(parsed.element(), shape, {});
    return outcome ? outcome->path + ": " + outcome->expected : "";
}

} // namespace

TEST_SUITE_BEGIN("json/reader");

TEST_CASE("every kind of member is read") {
    const Shape shape = read(R"({"name": "n", "filled": true, "color": "green",
        "points": [{"x": 1, "y": 2}, {"x": 3, "y": 4}], "center": {"x": 5, "y": 6}, "tags": ["t"],
        "data": "/w==", "file": "file:///a%20b", "labels": {"b": "2", "a": "1"}, "delta": -7})");

    CHECK(shape.name == "n");
    CHECK(shape.is_filled);
    CHECK(shape.color == Color::green);
    REQUIRE(shape.points.size() == 2);
    CHECK(shape.points[1].x == 3);
    CHECK(shape.center->y == 6);
    CHECK(shape.tags == std::vector<std::string>{"t"});
    CHECK(shape.data.bytes == "\xff");
    CHECK(shape.file.native == "/a b");
    CHECK(shape.labels == ew::json::StringMap{{"b", "2"}, {"a", "1"}});
    CHECK(shape.delta == -7);
}

TEST_CASE("absent members keep their defaults and unknown ones are ignored") {
    const Shape shape = read(R"({"name": "n", "unknown": {"x": [1]}})");

    CHECK_FALSE(shape.is_filled);
    CHECK(shape.color == Color::red);
    CHECK_FALSE(shape.center.has_value());
}

TEST_CASE("null counts as absent where a member may be without a value, and nowhere else") {
    CHECK_FALSE(read(R"({"name": "n", "center": null, "delta": null})").center.has_value());

    CHECK(wrong(R"({"name": null})") == "name: a string");
    CHECK(wrong(R"({"name": "n", "filled": null})") == "filled: true or false");
    CHECK(wrong(R"({"name": "n", "tags": null})") == "tags: an array");
}

TEST_CASE("strings keep escapes, NUL characters and emptiness") {
    const Shape shape = read(R"({"name": "\u0000\"\\\/\b\f\n\r\t\u00e9", "tags": [""]})");

    CHECK(shape.name == std::string("\0\"\\/\b\f\n\r\t\xc3\xa9", 11));
    CHECK(shape.tags[0].empty());
}

TEST_CASE("a missing member is named") {
    CHECK(wrong("{}") == "name: to be present");
    CHECK(wrong(R"({"name": "n", "center": {"x": 1}})") == "center.y: to be present");
}

TEST_CASE("the path of an error leads through objects and arrays") {
    CHECK(wrong(R"({"name": "n", "points": [{"x": 1, "y": 1}, {"x": 1, "y": "2"}]})") ==
          "points[1].y: a whole number of at least 0");
    CHECK(wrong(R"({"name": "n", "points": [5]})") == "points[0]: an object");
    CHECK(wrong(R"({"name": "n", "tags": ["a", 1]})") == "tags[1]: a string");
    CHECK(wrong(R"({"name": "n", "labels": {"a": 1}})") == "labels.a: a string");
    CHECK(wrong("[]") == ": an object");
}

TEST_CASE("the first member that is wrong wins, in the order of the struct") {
    CHECK(wrong(R"({"filled": 1, "color": 1, "name": "n"})") == "filled: true or false");
}

TEST_CASE("a value of the wrong type says what is expected") {
    CHECK(wrong(R"({"name": 5})") == "name: a string");
    CHECK(wrong(R"({"name": "n", "filled": 1})") == "filled: true or false");
    CHECK(wrong(R"({"name": "n", "labels": []})") == "labels: an object of strings");
    CHECK(wrong(R"({"name": "n", "data": 5})") == "data: base64 text");
    CHECK(wrong(R"({"name": "n", "data": "x"})") == "data: standard base64 with padding");
    CHECK(wrong(R"({"name": "n", "file": 5})") == "file: a file URI or an absolute path");
    CHECK(wrong(R"({"name": "n", "file": "a"})") ==
          "file: a file URI of this host or an absolute path");
    CHECK(wrong(R"({"name": "n", "delta": "1"})") == "delta: a whole number");
}

TEST_CASE("an unknown name of an enum gets the list of known ones") {
    CHECK(wrong(R"({"name": "n", "color": "blue"})") == R"(color: one of "red", "green")");
    CHECK(wrong(R"({"name": "n", "color": 0})") == R"(color: one of "red", "green")");
}

TEST_CASE("numbers outside of the bounds are refused, those on them are not") {
    CHECK(wrong(R"({"name": "n", "center": {"x": 0, "y": 0}})") ==
          "center.x: a whole number from 1 to 10");
    CHECK(wrong(R"({"name": "n", "center": {"x": 11, "y": 0}})") ==
          "center.x: a whole number from 1 to 10");
    CHECK(wrong(R"({"name": "n", "center": {"x": 1, "y": 0}})").empty());
    CHECK(wrong(R"({"name": "n", "center": {"x": 10, "y": 0}})").empty());
}

TEST_CASE("numbers with a fraction, an exponent or the wrong sign are no whole numbers") {
    for (const std::string_view number : {"1.0", "1e0", "-1", "1.5", "true", "\"1\""}) {
        CAPTURE(number);
        const std::string json = R"({"name": "n", "center": {"x": 1, "y": )" + std::string(number);
        CHECK(wrong(json + "}}") == "center.y: a whole number of at least 0");
    }
}

TEST_CASE("unsigned and signed numbers reach their limits") {
    const Shape shape = read(R"({"name": "n", "center": {"x": 1, "y": 18446744073709551615},
                                 "delta": -9223372036854775808})");

    CHECK(shape.center->y == ~0ULL);
    CHECK(*shape.delta == std::numeric_limits<std::int64_t>::min());
    CHECK(wrong(R"({"name": "n", "delta": 9223372036854775808})") == "delta: a whole number");
}

TEST_CASE("empty strings and arrays are refused where there must be something") {
    CHECK(wrong(R"({"name": ""})") == "name: a string that is not empty");
    CHECK(wrong(R"({"name": "n", "tags": []})") == "tags: at least 1 element(s)");
}

TEST_CASE("an id is kept as its JSON text") {
    for (const std::string_view id :
         {"7", "-9223372036854775808", "9223372036854775807", R"("a")", R"("")"}) {
        ew::test::Parsed parsed(id);
        ew::json::Id read_id;
        CAPTURE(id);
        CHECK_FALSE(ew::json::read_value(parsed.element(), read_id, {}).has_value());
        CHECK(read_id.json == id);
    }
}

TEST_CASE("an id of another type is refused") {
    for (const std::string_view id :
         {"1.0", "1e2", "null", "true", "[]", "{}", "9223372036854775808"}) {
        ew::test::Parsed parsed(id);
        ew::json::Id read_id;
        CAPTURE(id);
        CHECK(ew::json::read_value(parsed.element(), read_id, {}).has_value());
    }
}

TEST_CASE("where only a URI of a file is meant, a path is refused") {
    const auto read_uri = [](std::string_view json) {
        ew::test::Parsed parsed(json);
        REQUIRE(parsed.is_json());
        ew::json::FileUri uri;
        const std::optional<ew::json::Mismatch> outcome =
            ew::json::read_value(parsed.element(), uri, {});
        return outcome ? "wrong: " + outcome->expected : uri.native;
    };

    CHECK(read_uri(R"("file:///a%20b")") == "/a b");
    CHECK(read_uri(R"("/a")") == "wrong: a file URI");
    CHECK(read_uri("5") == "wrong: a file URI");
    CHECK(read_uri(R"("http://host/a")") == "wrong: a file URI of this host");
}

TEST_SUITE_END();
