#include "build_features.h"
#include "core/output/pattern.h"
#include "support/testing.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <string_view>
#include <utility>

using namespace ew;
using core::Pattern;

namespace {

Pattern made(Result<Pattern> pattern) {
    REQUIRE(pattern);
    return std::move(*pattern);
}

std::optional<Pattern::Match> found_in(Pattern pattern, std::string_view whole,
                                       const std::function<std::size_t()>& next_size) {
    while (!whole.empty()) {
        const std::size_t size = std::min(next_size(), whole.size());
        if (std::optional<Pattern::Match> match = pattern.look_at(whole.substr(0, size)))
            return match;
        whole.remove_prefix(size);
    }
    return std::nullopt;
}

bool are_same(const std::optional<Pattern::Match>& one,
              const std::optional<Pattern::Match>& other) {
    if (!one || !other) return !one && !other;
    return one->offset == other->offset && one->line == other->line && one->text == other->text;
}

} // namespace

TEST_CASE("a text is found with its place, also across pieces") {
    Pattern pattern = made(Pattern::of_text("ready\n"));
    CHECK_FALSE(pattern.look_at("one\ntwo\nrea"));
    CHECK_FALSE(pattern.look_at("rea"));
    CHECK_FALSE(pattern.look_at("dy"));
    const std::optional<Pattern::Match> match = pattern.look_at("\nmore");
    REQUIRE(match);
    CHECK(match->offset == 11);
    CHECK(match->line == 2);
    CHECK(match->text == "ready\n");
}

TEST_CASE("a text is found at the same place, however its output is cut") {
    std::mt19937 random(7); // NOLINT: the same numbers each time
    for (int round = 0; round < 3000; ++round) {
        std::string whole;
        for (std::size_t left = random() % 40; left > 0; --left)
            whole += "ab\n"[random() % 3];
        std::string text;
        for (std::size_t left = 1 + random() % 4; left > 0; --left)
            text += "ab\n"[random() % 3];
        const auto match =
            found_in(made(Pattern::of_text(text)), whole, [&] { return 1 + random() % 5; });
        const std::size_t at = whole.find(text);
        REQUIRE(match.has_value() == (at != std::string::npos));
        if (!match) continue;
        CHECK(match->offset == at);
        CHECK(match->line ==
              static_cast<std::size_t>(std::count(
                  whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(at), '\n')));
    }
}

TEST_CASE("a place counts from the first piece, also when much has been forgotten") {
    Pattern pattern = made(Pattern::of_text("end"));
    const std::string line(99, 'x');
    for (int number = 0; number < 1000; ++number)
        REQUIRE_FALSE(pattern.look_at(line + "\n"));
    const std::optional<Pattern::Match> match = pattern.look_at("the end");
    REQUIRE(match);
    CHECK(match->offset == 100004);
    CHECK(match->line == 1000);
}

TEST_CASE("a pattern has a bounded length") {
    CHECK_FALSE(Pattern::of_text(""));
    CHECK_FALSE(Pattern::of_regex(""));
    CHECK(Pattern::of_text(std::string(Pattern::longest, 'x')));
    CHECK_FALSE(Pattern::of_text(std::string(Pattern::longest + 1, 'x')));
}

#if EXECWARD_HAS_RE2

TEST_CASE("a regular expression is found at the same place, however its output is cut") {
    std::mt19937 random(11); // NOLINT: the same numbers each time
    for (const char* const expression :
         {"a+b", "abc|b", "(ab)+c", "a.c", "^b", "^ab*c", "[ab]{3}", "c(a|b)*c", "a\\nb", "b*c"}) {
        const std::regex whole_match(expression, std::regex::ECMAScript);
        for (int round = 0; round < 1000; ++round) {
            std::string whole;
            for (std::size_t left = random() % 24; left > 0; --left)
                whole += "abc\n"[random() % 4];
            const auto byte_by_byte =
                found_in(made(Pattern::of_regex(expression)), whole, [] { return 1; });
            const auto in_pieces = found_in(made(Pattern::of_regex(expression)), whole,
                                            [&] { return 1 + random() % 6; });
            const auto at_once =
                found_in(made(Pattern::of_regex(expression)), whole, [&] { return whole.size(); });
            CAPTURE(expression);
            CAPTURE(whole);
            CHECK(are_same(byte_by_byte, in_pieces));
            CHECK(are_same(byte_by_byte, at_once));
            if (!at_once) continue;
            CHECK(whole.substr(at_once->offset, at_once->text.size()) == at_once->text);
            CHECK(std::regex_match(at_once->text, whole_match));
        }
    }
}

TEST_CASE("a line begins where the output began, and behind each line end") {
    Pattern pattern = made(Pattern::of_regex("^go"));
    CHECK_FALSE(pattern.look_at("no go\n"));
    CHECK_FALSE(pattern.look_at(std::string(2 * Pattern::longest, ' ') + "go"));
    CHECK_FALSE(pattern.look_at("go"));
    CHECK_FALSE(pattern.look_at("\n"));
    CHECK(pattern.look_at("go"));
}

TEST_CASE("the end of the output so far counts as the end of a line") {
    Pattern pattern = made(Pattern::of_regex(">>> $"));
    CHECK_FALSE(pattern.look_at("1\n>>"));
    CHECK_FALSE(pattern.look_at(">"));
    CHECK(pattern.look_at(" "));
}

TEST_CASE("an expression that RE2 does not take is refused with the reason") {
    for (const char* const expression : {"(", "a**b{", "(?=x)", "(a)\\1", "[z-a]"}) {
        Result<Pattern> pattern = Pattern::of_regex(expression);
        REQUIRE_FALSE(pattern);
        CHECK(pattern.error().kind == ErrorKind::invalid_params);
    }
    const std::string large = "((((x{100}){100}){100}){100})";
    CHECK_FALSE(Pattern::of_regex(large));
}

TEST_CASE("an expression that is hard for others takes linear time") {
    Pattern pattern = made(Pattern::of_regex("(a*)*b"));
    for (int piece = 0; piece < 2000; ++piece)
        REQUIRE_FALSE(pattern.look_at(std::string(1000, 'a')));
    CHECK(pattern.look_at("b"));
}

#endif
