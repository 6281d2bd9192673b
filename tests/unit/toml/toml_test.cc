#include "support/testing.h"
#include "toml/toml.h"

#include <string>
#include <string_view>
#include <vector>

using ew::toml::Array;
using ew::toml::DateTime;
using ew::toml::Member;
using ew::toml::nearest;
using ew::toml::Position;
using ew::toml::Problem;
using ew::toml::Table;
using ew::toml::TableReader;

namespace {

Table parsed(std::string_view text) {
    ew::Result<Table> table = ew::toml::parse(text, "x.toml");
    REQUIRE(table);
    return std::move(*table);
}

std::string refusal(std::string_view text) {
    ew::Result<Table> table = ew::toml::parse(text, "x.toml");
    REQUIRE_FALSE(table);
    CHECK(table.error().kind == ew::ErrorKind::config_invalid);
    return table.error().message;
}

template <class T>
T value_of(const Table& table, std::string_view name) {
    const Member* member = table.find(name);
    REQUIRE(member);
    const T* value = std::get_if<T>(&member->value.is);
    REQUIRE(value);
    return *value;
}

std::string names_of(const Table& table) {
    std::string names;
    for (const Member& member : table.members)
        names += names.empty() ? member.name : " " + member.name;
    return names;
}

std::vector<std::string> described(const std::vector<Problem>& problems) {
    std::vector<std::string> texts;
    for (const Problem& problem : problems)
        texts.push_back(describe(problem));
    return texts;
}

} // namespace

TEST_SUITE_BEGIN("toml/toml");

TEST_CASE("every kind of value is read") {
    const Table table = parsed("s = 'text'\ni = -7\nf = 2.5\nb = true\nd = 1979-05-27T07:32:00Z\n"
                               "a = [1, [2]]\nt = { x = 1 }\n");

    CHECK(value_of<std::string>(table, "s") == "text");
    CHECK(value_of<std::int64_t>(table, "i") == -7);
    CHECK(value_of<double>(table, "f") == doctest::Approx(2.5));
    CHECK(value_of<bool>(table, "b"));
    CHECK(value_of<DateTime>(table, "d").text == "1979-05-27T07:32:00Z");
    CHECK(value_of<Array>(table, "a").items.size() == 2);
    CHECK(names_of(value_of<Table>(table, "t")) == "x");
}

TEST_CASE("members keep the order of the file") {
    CHECK(names_of(parsed("z = 1\na = 2\n[m]\n[b.c]\n[a2]\n")) == "z a m b a2");
    CHECK(names_of(value_of<Table>(parsed("t = { z = 1, a = 2, m = 3 }"), "t")) == "z a m");
}

TEST_CASE("names and values know their line and column") {
    const Table table = parsed("a = 1\n\n  name = \"x\"\n[[rule]]\n[[rule]]\nk = 'é' # x\n");
    const Array rules = value_of<Array>(table, "rule");

    CHECK(table.find("name")->position == Position{3, 3});
    CHECK(table.find("name")->value.position == Position{3, 10});
    REQUIRE(rules.items.size() == 2);
    CHECK(rules.items[1].position == Position{5, 1});
    CHECK(std::get_if<Table>(&rules.items[1].is)->position == Position{5, 1});
}

TEST_CASE("a mistake in the syntax is told with its position") {
    CHECK(refusal("a = 1\nb = = 2\n").starts_with("x.toml:2:5: "));
    CHECK(refusal("a = 1\na = 2\n").starts_with("x.toml:2:"));
    CHECK(refusal("a = \"\x01\"\n").find('\x01') == std::string::npos);
    CHECK(refusal("a = \xff\n").starts_with("x.toml:1:"));
}

TEST_CASE("a mistake at the start of a name is a mistake and no more") {
    for (const char* text : {"[!]", "[ =", "[[,]]", "[\x1e", "= 1", ". = 1", "a. = 1", "[a.]"})
        CHECK(refusal(text).starts_with("x.toml:1:"));
}

TEST_CASE("characters beyond ASCII stand in quotes and comments, and nowhere else") {
    CHECK(parsed("\xef\xbb\xbf# é\na = 'é'\nb = \"é\"\nc = '''é'''\nd = \"\"\"\\\n é\\té\"\"\"\n"
                 "\"é\" = 1\n")
              .members.size() == 5);
    for (const char* text : {"a = 'é'; é", "é = 1", "a =\xc2\xa0'x'", "a = \"\\é\"", "a = [0.'é']"})
        CHECK(refusal(text).starts_with("x.toml:1:"));
}

TEST_CASE("a text that is too large is refused before it is read") {
    const std::string text = "#" + std::string(ew::toml::longest_text, 'x');

    CHECK(refusal(text) == "x.toml: is larger than 1048576 bytes");
    CHECK(parsed(text.substr(1, 100) + " = 1\n").members.size() == 1);
}

TEST_CASE("depth is bounded, in names and in values") {
    std::string name = "a";
    for (int i = 1; i < 32; ++i)
        name += ".a";

    CHECK(parsed(name + " = 1").members.size() == 1);
    CHECK(refusal("x = 1\n" + name + ".a = 1") == "x.toml:2:64: a name has more than 32 parts");
    CHECK(refusal("x = 'a#'\n[" + name + " . \"a\"]") ==
          "x.toml:2:66: a name has more than 32 parts");
    CHECK(refusal("x = '''\n'''''\n{" + name + ".a").find("32 parts") != std::string::npos);
    CHECK(refusal("x = " + std::string(100000, '[')).starts_with("x.toml:1:"));
}

TEST_CASE("dots inside of strings and comments are no parts of a name") {
    const std::string dots(200, '.');

    CHECK(parsed("a = '" + dots + "'\nb = \"\\\"" + dots + "\"\n# " + dots + "\nc = '''\n" + dots +
                 "''' # x\n\"" + dots + "\" = 1\n")
              .members.size() == 4);
}

TEST_CASE("the nearest name is the one that was meant") {
    CHECK(nearest("decison", {"prefix", "decision"}) == "decision");
    CHECK(nearest("perfix", {"prefix", "decision"}) == "prefix");
    CHECK(nearest("forbiden", {"allow", "prompt", "forbidden"}) == "forbidden");
    CHECK(nearest("colour", {"prefix", "decision"}).empty());
    CHECK(nearest("", {"a"}).empty() == false);
    CHECK(nearest(std::string(5000, 'x'), {"prefix"}).empty());
}

TEST_CASE("a reader gives what is there and keeps silent about what is not") {
    const Table table = parsed("s = 'x'\nb = false\ni = 3\nf = 1.5\nl = ['a', 'b']\n[t]\n[[r]]\n");
    std::vector<Problem> problems;
    TableReader reader(table, "x.toml", problems);

    CHECK(reader.string("s") == "x");
    CHECK(reader.boolean("b") == false);
    CHECK(reader.integer("i", 3, 3) == 3);
    CHECK(reader.number("i") == doctest::Approx(3));
    CHECK(reader.number("f") == doctest::Approx(1.5));
    CHECK(reader.strings("l") == std::vector<std::string>{"a", "b"});
    CHECK(reader.table("t") != nullptr);
    CHECK(reader.tables("r").size() == 1);
    CHECK(reader.choice("s", {"x", "y"}) == "x");
    CHECK_FALSE(reader.string("absent"));
    CHECK_FALSE(reader.table("absent"));
    reader.finish();
    CHECK(problems.empty());
}

TEST_CASE("a value of the wrong kind is a problem that names key, place and both kinds") {
    const Table table = parsed("s = 1\ni = 'x'\nl = ['a', 2]\nr = [1]\nn = 9\nc = 'forbiden'\n");
    std::vector<Problem> problems;
    TableReader reader(table, "x.toml", problems, "outer");

    CHECK_FALSE(reader.string("s"));
    CHECK_FALSE(reader.integer("i"));
    CHECK_FALSE(reader.strings("l"));
    CHECK(reader.tables("r").empty());
    CHECK_FALSE(reader.integer("n", 1, 8));
    CHECK_FALSE(reader.choice("c", {"allow", "prompt", "forbidden"}));
    CHECK(described(problems) ==
          std::vector<std::string>{
              "x.toml:1:5: key 'outer.s': expected a string, found an integer",
              "x.toml:2:5: key 'outer.i': expected an integer, found a string",
              "x.toml:3:11: key 'outer.l': expected strings only, found an integer",
              "x.toml:4:6: key 'outer.r': expected tables only, found an integer",
              "x.toml:5:5: key 'outer.n': 9 is not between 1 and 8",
              "x.toml:6:5: key 'outer.c': expected \"allow\", \"prompt\" or \"forbidden\", "
              "found \"forbiden\"; did you mean \"forbidden\"?"});
}

TEST_CASE("a key that nobody asks for is a problem with a suggestion") {
    const Table table = parsed("prefx = 1\n\"a\\u001b\" = 2\n");
    std::vector<Problem> problems;
    TableReader reader(table, "x.toml", problems);

    CHECK_FALSE(reader.strings("prefix"));
    reader.finish();

    CHECK(described(problems) ==
          std::vector<std::string>{"x.toml:1:1: unknown key 'prefx'; did you mean 'prefix'?",
                                   "x.toml:2:1: unknown key 'a\\u001b'"});
}

TEST_SUITE_END();
