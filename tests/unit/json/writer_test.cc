#include "json/base64.h"
#include "json/writer.h"
#include "support/parsed.h"
#include "support/random.h"
#include "support/slow_utf8.h"
#include "support/testing.h"

#include <limits>
#include <string>

namespace {

struct Thing {
    std::string name = {};
    std::optional<std::int64_t> code = {};
    std::optional<std::string> note = {};
    bool is_late = false;
    std::vector<std::int64_t> pids = {};
};

template <class Visitor>
void fields(Visitor& visit, Thing& thing) {
    visit.required("name", thing.name);
    visit.required("code", thing.code);
    visit.optional("note", thing.note);
    visit.optional("late", thing.is_late);
    visit.optional("pids", thing.pids);
}

template <class T>
std::string written(const T& value) {
    ew::ByteBuffer out;
    ew::json::write_value(out, value);
    return std::string(out.view());
}

std::string as_string(std::string_view text) {
    ew::ByteBuffer out;
    ew::json::write_string(out, text);
    return std::string(out.view());
}

} // namespace

TEST_SUITE_BEGIN("json/writer");

TEST_CASE("a string is quoted, and what JSON does not allow in it is escaped") {
    CHECK(as_string("") == R"("")");
    CHECK(as_string("plain caf\xc3\xa9 /") == "\"plain caf\xc3\xa9 /\"");
    CHECK(as_string("\"\\\n\r\t") == R"("\"\\\n\r\t")");
    CHECK(as_string(std::string_view("\0\x1f\x7f", 3)) == R"("\u0000\u001f\u007f")");
}

TEST_CASE("what the writer escapes the parser gives back") {
    ew::test::Random random(5);
    for (int round = 0; round < 200; ++round) {
        std::string text;
        for (std::size_t length = random.below(40); length > 0; --length) {
            const auto character = static_cast<std::uint32_t>(
                random.below(3) == 0 ? random.below(0x80) : random.below(0xd800));
            text += ew::test::encoded(character);
        }
        ew::test::Parsed parsed(as_string(text));
        REQUIRE(parsed.is_json());
        REQUIRE(parsed.string() == text);
    }
}

TEST_CASE("numbers are written to their limits") {
    CHECK(written(std::uint64_t{0}) == "0");
    CHECK(written(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
    CHECK(written(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
}

TEST_CASE("a required member is always there, null when it has no value") {
    CHECK(written(Thing{.name = "n"}) == R"({"name":"n","code":null})");
    CHECK(written(Thing{.name = "n", .code = -3}) == R"({"name":"n","code":-3})");
}

TEST_CASE("an optional member is left out while it says nothing") {
    CHECK(written(Thing{.name = "n", .note = "", .is_late = true, .pids = {1, 2}}) ==
          R"({"name":"n","code":null,"note":"","late":true,"pids":[1,2]})");
}

TEST_CASE("lists and maps keep their order") {
    CHECK(written(std::vector<std::string>{}) == "[]");
    CHECK(written(std::vector<std::string>{"b", "a"}) == R"(["b","a"])");
    CHECK(written(ew::json::FlagMap{{"z", true}, {"a\"", false}}) == R"({"z":true,"a\"":false})");
    CHECK(written(ew::json::StringMap{}) == "{}");
}

TEST_CASE("an id is echoed as it came, and none is null") {
    CHECK(written(ew::json::Id{R"("a\n")"}) == R"("a\n")");
    CHECK(written(ew::json::Id{}) == "null");
}

TEST_CASE("bytes become base64 of every length") {
    ew::test::Random random(6);
    for (std::size_t size = 0; size < 300; ++size) {
        const std::string bytes = random.bytes(size);
        const std::string text = written(ew::json::Bytes{bytes});
        CAPTURE(size);
        REQUIRE(text.front() == '"');
        REQUIRE(text.back() == '"');
        REQUIRE(ew::json::decode_base64(text.substr(1, text.size() - 2)) == bytes);
    }
}

TEST_CASE("a path is written as a file URI") {
    CHECK(written(ew::json::FileUri{"/a b"}) == R"("file:///a%20b")");
    CHECK(written(ew::json::Path{"/a b"}) == R"("file:///a%20b")");
}

TEST_SUITE_END();
