#include "core/output/excerpt.h"
#include "support/testing.h"

#include <algorithm>
#include <limits>
#include <string>

using ew::core::Excerpt;
using ew::core::model_text;
using ew::core::ModelText;
using ew::core::shorten;
using ew::core::tokens_of;

namespace {

std::string repeated(const std::string& piece, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
        text += piece;
    return text;
}

} // namespace

TEST_SUITE_BEGIN("core/excerpt");

TEST_CASE("a token is four bytes, and a part of one counts") {
    CHECK(tokens_of(0) == 0);
    CHECK(tokens_of(1) == 1);
    CHECK(tokens_of(4) == 1);
    CHECK(tokens_of(5) == 2);
    CHECK(tokens_of(std::numeric_limits<std::uint64_t>::max()) == std::uint64_t{1} << 62);
}

TEST_CASE("what fits is unchanged") {
    const Excerpt excerpt = shorten("12345678", "", 0, 2);

    CHECK(excerpt.text == "12345678");
    CHECK(excerpt.original_tokens == 2);
    CHECK(excerpt.omitted_bytes == 0);
}

TEST_CASE("what is too long loses its middle, and both counts are exact") {
    const std::string line = repeated("x", 35) + "\n";

    const Excerpt excerpt = shorten(repeated(line, 999), "", 0, 50);

    CHECK(excerpt.original_tokens == 8991);
    CHECK(excerpt.omitted_bytes == 999 * 36 - 200);
    CHECK(excerpt.text == "Total output lines: 999\n\n" + repeated(line, 2) + repeated("x", 28) +
                              "…8941 tokens truncated…" + repeated("x", 27) + "\n" +
                              repeated(line, 2));
}

TEST_CASE("a last line without a newline counts as a line") {
    CHECK(shorten("a\nb\nccccc", "", 0, 1).text.starts_with("Total output lines: 3\n\n"));
    CHECK(shorten("a\nb\ncccc\n", "", 0, 1).text.starts_with("Total output lines: 3\n\n"));
}

TEST_CASE("no character is cut in two") {
    const std::string euros = repeated("€", 8); // 3 bytes each

    const Excerpt excerpt = shorten(euros, "", 0, 2);

    CHECK(excerpt.text == "Total output lines: 1\n\n€…4 tokens truncated…€");
    CHECK(excerpt.omitted_bytes == 18);
}

TEST_CASE("without any token only the markers are left") {
    const Excerpt excerpt = shorten("some output", "", 0, 0);

    CHECK(excerpt.text == "Total output lines: 1\n\n…3 tokens truncated…");
    CHECK(excerpt.omitted_bytes == 11);
    CHECK(shorten("", "", 0, 0).text.empty());
}

TEST_CASE("a tail that nothing is missing before is more of the same") {
    CHECK(shorten("abcd", "efgh", 0, 2).text == "abcdefgh");
    CHECK(shorten("abcd", "efgh", 0, 1).text == shorten("abcdefgh", "", 0, 1).text);
}

TEST_CASE("bytes that were lost are counted where they are missing") {
    const Excerpt excerpt = shorten("begin", "end", 1000, 10);

    CHECK(excerpt.text == "begin\n... 1000 bytes omitted ...\nend");
    CHECK(excerpt.original_tokens == 252);
    CHECK(excerpt.omitted_bytes == 1000);
}

TEST_CASE("lost bytes and cut ones are one gap, and the lines are a lower bound") {
    const Excerpt excerpt = shorten("a\nbcdefgh", "ijklmno\np", 1000, 2);

    CHECK(excerpt.text == "Total output lines: 4 or more\n\na\nbc…253 tokens truncated…no\np");
    CHECK(excerpt.original_tokens == 255);
    CHECK(excerpt.omitted_bytes == 1018 - 8);
}

TEST_CASE("an end that is short leaves the budget to the other") {
    CHECK(shorten("a", "0123456789", 100, 2).text.ends_with("a…26 tokens truncated…3456789"));
    CHECK(shorten("0123456789", "z", 100, 2).text.ends_with("0123456…26 tokens truncated…z"));
    CHECK(shorten("", "0123456789", 100, 2).text.ends_with("\n\n…26 tokens truncated…23456789"));
}

TEST_CASE("a budget that no output reaches is no problem") {
    const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

    CHECK(shorten("text", "", 0, huge).text == "text");
    CHECK(shorten("a", "b", 5, huge).text == "a\n... 5 bytes omitted ...\nb");
}

TEST_CASE("whatever the sizes, shown and omitted bytes add up and the budget holds") {
    constexpr std::uint64_t lost = 50;
    for (std::size_t number = 0; number < 12 * 12 * 5; ++number) {
        const std::size_t head = number % 12;
        const std::size_t tail = number / 12 % 12;
        const std::uint64_t budget = number / 144;

        const Excerpt excerpt = shorten(repeated("H", head), repeated("Z", tail), lost, budget);

        const auto shown = static_cast<std::uint64_t>(std::count_if(
            excerpt.text.begin(), excerpt.text.end(), [](char c) { return c == 'H' || c == 'Z'; }));
        INFO("head " << head << " tail " << tail << " budget " << budget);
        REQUIRE(shown + excerpt.omitted_bytes == head + tail + lost);
        REQUIRE(shown <= budget * 4);
    }
}

TEST_CASE("the text for a model of a command that ended") {
    const ModelText fields = {.chunk_id = "a1b2c3",
                              .wall_time = std::chrono::microseconds(1234567),
                              .exit_code = 3,
                              .original_tokens = 2,
                              .output = "hello\n"};

    CHECK(model_text(fields) == "Chunk ID: a1b2c3\nWall time: 1.2346 seconds\n"
                                "Process exited with code 3\nOriginal token count: 2\n"
                                "Output:\nhello\n");
}

TEST_CASE("the text for a model of a command that still runs") {
    const ModelText fields = {.chunk_id = "a1b2c3", .process_id = "1000", .original_tokens = 0};

    CHECK(model_text(fields) == "Chunk ID: a1b2c3\nWall time: 0.0000 seconds\n"
                                "Process running with session ID 1000\nOriginal token count: 0\n"
                                "Output:\n");
}

TEST_CASE("what is not known has no line in the text for a model") {
    CHECK(model_text({}) == "Wall time: 0.0000 seconds\nOutput:\n");
}

TEST_SUITE_END();
