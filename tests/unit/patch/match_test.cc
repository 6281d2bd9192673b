#include "patch/match.h"
#include "support/testing.h"

#include <string>
#include <vector>

using namespace ew::patch;
using ew::ErrorKind;
using ew::Result;

namespace {

std::string folded(std::string_view line) {
    std::string storage;
    return std::string(compared_on(MatchLevel::folded, line, storage));
}

Places places_of(const std::string& file, const std::vector<std::string_view>& wanted,
                 std::size_t from = 0) {
    const std::vector<TextLine> lines = lines_of(file);
    Searched searched(lines, wanted);
    Result<Places> places = searched.places({0, wanted.size()}, from);
    REQUIRE(places);
    return *places;
}

Places place_at_end(const std::string& file, const std::vector<std::string_view>& wanted,
                    std::size_t from = 0) {
    const std::vector<TextLine> lines = lines_of(file);
    Searched searched(lines, wanted);
    Result<Places> places = searched.place_at_end({0, wanted.size()}, from);
    REQUIRE(places);
    return *places;
}

using Found = std::vector<std::size_t>;

} // namespace

TEST_SUITE_BEGIN("patch/match");

TEST_CASE("each level disregards more") {
    std::string storage;
    const std::string_view line = "\t a\xe2\x80\x93"
                                  "b \r";
    CHECK(compared_on(MatchLevel::exact, line, storage) == line);
    CHECK(compared_on(MatchLevel::trailing_blanks, line, storage) == "\t a\xe2\x80\x93"
                                                                     "b");
    CHECK(compared_on(MatchLevel::both_ends, line, storage) == "a\xe2\x80\x93"
                                                               "b");
    CHECK(compared_on(MatchLevel::folded, line, storage) == "a-b");
}

TEST_CASE("dashes, quotation marks and blanks are folded") {
    CHECK(folded("‐‑‒–—―−") == "-------");
    CHECK(folded("‘’‚‛") == "''''");
    CHECK(folded("“”„‟") == "\"\"\"\"");
    for (const char* blank : {"\u00a0", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007",
                              "\u2008", "\u2009", "\u200a", "\u202f", "\u205f", "\u3000"}) {
        CHECK(folded(std::string("a") + blank + "b") == "a b");
        CHECK(folded(std::string(blank) + "a" + blank) == "a");
    }
    CHECK(folded("\u200b…é\u2016") == "\u200b…é\u2016"); // neighbours, and what is like them
}

TEST_CASE("bytes that are no UTF-8 are not folded") {
    CHECK(folded("\xe2\x80|\xff\xe2\x80\x93") == "\xe2\x80|\xff-");
}

TEST_CASE("the first level that has a place counts, on all of the file") {
    const Places exact = places_of("  a\na \na\n", {"a"});
    CHECK(exact.level == MatchLevel::exact);
    CHECK(exact.first == Found{2});

    const Places trailing = places_of("  a\na \n\xc2\xa0"
                                      "a\n",
                                      {"a"});
    CHECK(trailing.level == MatchLevel::trailing_blanks);
    CHECK(trailing.first == Found{1});

    const Places both = places_of("\xc2\xa0"
                                  "a\n  a\n",
                                  {"a"});
    CHECK(both.level == MatchLevel::both_ends);
    CHECK(both.first == Found{1});

    const Places lax = places_of("b\n\xc2\xa0"
                                 "a\n",
                                 {"a"});
    CHECK(lax.level == MatchLevel::folded);
    CHECK(lax.first == Found{1});

    CHECK(places_of("b\n", {"a"}).count == 0);
}

TEST_CASE("line ends are no part of lines") {
    CHECK(places_of("a\r\nb\nc", {"a", "b", "c"}).level == MatchLevel::exact);
}

TEST_CASE("all places are counted, overlapping ones too, and the first few are told") {
    const Places places = places_of("a\na\na\nb\na\na\n", {"a", "a"});
    CHECK(places.count == 3);
    CHECK(places.first == Found{0, 1, 4});

    std::string many;
    for (int i = 0; i < 100; ++i)
        many += "a\n";
    CHECK(places_of(many, {"a"}).count == 100);
    CHECK(places_of(many, {"a"}).first.size() == most_places);
}

TEST_CASE("places begin at the cursor or behind it") {
    CHECK(places_of("a\nb\na\n", {"a"}, 1).first == Found{2});
    CHECK(places_of("a\nb\na\n", {"a"}, 3).count == 0);
    CHECK(places_of("a\nb\na\n", {"a"}, 99).count == 0);
}

TEST_CASE("more lines than the file has are nowhere in it") {
    CHECK(places_of("a\n", {"a", "a"}).count == 0);
    CHECK(places_of("", {"a"}).count == 0);
    CHECK(place_at_end("a\n", {"a", "a"}).count == 0);
}

TEST_CASE("the end of the file is one place") {
    CHECK(place_at_end("a\nb\na\n", {"a"}).first == Found{2});
    CHECK(place_at_end("a\nb\na \n", {"a"}).level == MatchLevel::trailing_blanks);
    CHECK(place_at_end("a\nb\n", {"a"}).count == 0);
    CHECK(place_at_end("a\nb\n", {"b"}, 2).count == 0);
}

TEST_CASE("lines that nearly match do not make it slow, and the work has a limit") {
    std::string file;
    for (int i = 0; i < 200'000; ++i)
        file += "a\n";
    std::vector<std::string_view> wanted(100'000, "a");
    wanted.back() = "b";
    const std::vector<TextLine> lines = lines_of(file);
    Searched searched(lines, wanted);

    Result<Places> places = searched.places({0, wanted.size()}, 0);
    REQUIRE(places);
    CHECK(places->count == 0);

    int calls = 1;
    while (places && calls < 1000) {
        places = searched.places({0, wanted.size()}, 0);
        ++calls;
    }
    REQUIRE_FALSE(places);
    CHECK(places.error().kind == ErrorKind::limit);
    CHECK(calls < 200);
}

TEST_CASE("the nearest line begins and ends as the one wanted") {
    const std::string text = "int main() {\n    return calculate(1, 2);\n}\n";
    const std::vector<TextLine> file = lines_of(text);
    CHECK(nearest_line(file, "return calculate(1, 3);") == 1);
    CHECK(nearest_line(file, "something else") == std::nullopt);
    CHECK(nearest_line(file, "") == std::nullopt);
}

TEST_SUITE_END();
