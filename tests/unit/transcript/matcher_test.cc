#include "support/testing.h"
#include "transcript/format.h"
#include "transcript/matcher.h"

using ew::transcript::Difference;
using ew::transcript::Matcher;
using ew::transcript::Node;
using ew::transcript::parse_node;
using ew::transcript::parse_transcript;
using ew::transcript::Shapes;
using ew::transcript::to_json;

namespace {

constexpr std::string_view protocol =
    R"({"methods":[{"name":"thing/made","params":"Thing","result":null}]})";
constexpr std::string_view types =
    R"({"$defs":{
        "Thing":{"required":["name","size","parts"],"properties":{
            "name":{"type":"string"},"size":{"type":"integer","x-volatile":true},
            "note":{"type":"string"},"parts":{"type":"array","items":{"$ref":"#/$defs/Part"}},
            "owner":{"anyOf":[{"$ref":"#/$defs/Part"},{"type":"null"}]}}},
        "Part":{"required":["id"],"properties":{"id":{},"pid":{"x-volatile":true}}}}})";

Node json(std::string_view text) {
    auto node = parse_node(text);
    REQUIRE(node);
    return *node;
}

Node expected_line(std::string_view text) {
    auto steps = parse_transcript("< " + std::string(text));
    REQUIRE(steps);
    return *steps->front().message;
}

struct Scene {
    Shapes shapes = *Shapes::parse(protocol, types);
    Matcher matcher{shapes};

    std::optional<Difference> compare(std::string_view expected, std::string_view actual) {
        return matcher.compare(expected_line(expected), json(actual), nullptr);
    }

    std::optional<Difference> compare_things(std::string_view expected, std::string_view actual) {
        const std::string before = R"({"method":"thing/made","params":)";
        return matcher.compare(expected_line(before + std::string(expected) + "}"),
                               json(before + std::string(actual) + "}"), shapes.call("thing/made"));
    }
};

} // namespace

TEST_SUITE_BEGIN("transcript");

TEST_CASE("equal messages fit, whatever the order of members") {
    Scene scene;

    CHECK_FALSE(scene.compare(R"({"a":1,"b":[true,null,"x"]})", R"({"b":[true,null,"x"],"a":1})"));
}

TEST_CASE("a difference names the place and both values") {
    Scene scene;

    const auto found = scene.compare(R"({"a":{"b":[1,{"c":2}]}})", R"({"a":{"b":[1,{"c":"2"}]}})");

    REQUIRE(found);
    CHECK(found->path == "a.b[1].c");
    CHECK(found->expected == "2");
    CHECK(found->got == "\"2\"");
}

TEST_CASE("missing and additional members and elements are differences") {
    Scene scene;

    CHECK(scene.compare(R"({"a":1})", "{}")->path == "a");
    CHECK(scene.compare("{}", R"({"a":1})")->path == "a");
    CHECK(scene.compare(R"({"a":[1]})", R"({"a":[]})")->path == "a[0]");
    CHECK(scene.compare(R"({"a":[]})", R"({"a":[1]})")->path == "a[0]");
}

TEST_CASE("three dots allow more, but nothing else") {
    Scene scene;

    CHECK_FALSE(scene.compare(R"({"a":[1,...],...})", R"({"a":[1,2,3],"b":4})"));
    CHECK(scene.compare(R"({"a":[1,...],...})", R"({"a":[2]})")->path == "a[0]");
}

TEST_CASE("a name takes any value at first sight and stands for it afterwards") {
    Scene scene;

    CHECK_FALSE(scene.compare(R"({"a":"$it","b":"$it"})", R"({"a":[1,2],"b":[1,2]})"));
    CHECK(scene.compare(R"({"c":"$it"})", R"({"c":[1]})")->expected == "[1,2]");
    CHECK(to_json(scene.matcher.expanded(json(R"({"x":["$it","$it ","$other"]})"))) ==
          R"({"x":[[1,2],"$it ","$other"]})");
}

TEST_CASE("the directory's names may begin a path") {
    Scene scene;
    scene.matcher.bind("$dir", Node::of_text("/tmp/run"));
    scene.matcher.bind("$dirUri", Node::of_text("file:///tmp/run"));

    CHECK(to_json(scene.matcher.expanded(
              json(R"(["$dir","$dir/a","$dirUri/a","$dirty","a $dir/b"])"))) ==
          R"(["/tmp/run","/tmp/run/a","file:///tmp/run/a","$dirty","a $dir/b"])");
    CHECK_FALSE(scene.compare(R"({"cwd":"$dir/a"})", R"({"cwd":"/tmp/run/a"})"));
}

TEST_CASE("volatile members are not compared, and optional ones only when written") {
    Scene scene;
    const std::string_view actual =
        R"({"name":"n","size":7,"note":"hm","parts":[{"id":1,"pid":5}],"owner":{"id":2,"pid":6}})";

    CHECK_FALSE(scene.compare_things(R"({"name":"n","parts":[{"id":1}]})", actual));
    CHECK_FALSE(
        scene.compare_things(R"({"name":"n","size":1,"parts":[{"id":1,"pid":9}]})", actual));
    CHECK_FALSE(
        scene.compare_things(R"({"name":"n","parts":[{"id":1}],"owner":{"id":2}})", actual));
    CHECK(scene.compare_things(R"({"name":"n","parts":[{"id":1}],"note":"no"})", actual)->path ==
          "params.note");
    CHECK(scene.compare_things(R"({"parts":[{"id":1}]})", actual)->path == "params.name");
}

TEST_CASE("a part fits any text that contains it, and nothing else") {
    Scene scene;

    CHECK_FALSE(scene.compare(R"({"a*":"mid"})", R"({"a":"amidst"})"));
    CHECK_FALSE(scene.compare(R"({"a*":""})", R"({"a":""})"));
    CHECK_FALSE(scene.compare(R"({"a*":"$unbound"})", R"({"a":"is $unbound here"})"));
    CHECK(scene.compare(R"({"a*":"mid"})", R"({"a":"mad"})")->expected == "text with \"mid\"");
    CHECK(scene.compare(R"({"a*":"5"})", R"({"a":5})")->path == "a");
    CHECK(scene.compare(R"({"a*":"5"})", "{}")->path == "a");
}

TEST_CASE("a name that stands for a text may be the part") {
    Scene scene;
    scene.matcher.bind("$dir", Node::of_text("/tmp/run"));

    CHECK_FALSE(scene.compare(R"({"a*":"$dir/x"})", R"({"a":"in /tmp/run/x."})"));
    CHECK_FALSE(scene.compare(R"({"id":"$it"})", R"({"id":"q1"})"));
    CHECK_FALSE(scene.compare(R"({"a*":"$it"})", R"({"a":"no q1"})"));
    CHECK(scene.compare(R"({"a*":"$it"})", R"({"a":"no q2"})"));
}

TEST_CASE("a part makes a volatile member count") {
    Scene scene;

    CHECK_FALSE(scene.compare_things(R"({"size*":"7",...})", R"({"size":"17"})"));
    CHECK(scene.compare_things(R"({"size*":"8",...})", R"({"size":"17"})"));
}

TEST_CASE("a name makes a volatile member count") {
    Scene scene;

    CHECK_FALSE(scene.compare_things(R"({"size":"$size",...})", R"({"size":7})"));
    CHECK_FALSE(scene.compare_things(R"({"size":"$size",...})", R"({"size":7})"));
    CHECK(scene.compare_things(R"({"size":"$size",...})", R"({"size":8})"));
}

TEST_SUITE_END();
