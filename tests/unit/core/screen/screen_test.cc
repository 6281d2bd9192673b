#include "core/screen/playback.h"
#include "core/screen/row_text.h"
#include "core/screen/screen.h"
#include "core/screen/sequence_reader.h"
#include "support/random.h"
#include "support/testing.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace ew;
using core::Playback;
using core::Screen;
using core::ScreenPosition;
using core::ScreenSize;
using core::SizeHistory;

namespace {

constexpr std::uint64_t first_version = 7;

Screen made(ScreenSize size = {4, 10}) {
    Result<Screen> screen = Screen::of(size, first_version);
    REQUIRE(screen);
    return std::move(*screen);
}

Screen fed(std::string_view bytes, ScreenSize size = {4, 10}) {
    Screen screen = made(size);
    REQUIRE(screen.feed(bytes) == bytes.size());
    return screen;
}

std::string row(const Screen& screen, std::size_t index) {
    return core::text_of(screen.grid().row(index));
}

std::vector<std::size_t> changed_since(const Screen& screen, std::uint64_t version) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < screen.size().rows; ++i)
        if (screen.grid().row(i).version > version) rows.push_back(i);
    return rows;
}

const core::Cell& cell(const Screen& screen, std::size_t at_row, std::size_t col) {
    return screen.grid().row(at_row).cells[col];
}

} // namespace

TEST_CASE("a screen has its limits") {
    Result<void> fine = Screen::check({24, 80});
    if (!Screen::is_available()) {
        REQUIRE_FALSE(fine);
        CHECK(fine.error().message.find("no screens") != std::string::npos);
        return;
    }
    CHECK(fine);
    CHECK(Screen::check({1000, 100}));
    for (const ScreenSize size : {ScreenSize{0, 80}, {24, 0}, {1001, 1}, {1, 1001}, {1000, 101}})
        CHECK_FALSE(Screen::check(size));
}

// Without the library there is nothing to test.
TEST_SUITE_BEGIN("screen" * doctest::skip(!Screen::is_available()));

TEST_CASE("text, cursor, title and the alternate screen are told") {
    Screen screen = fed("one\r\ntwo\x1b]2;a title\x07\x1b[?25l");
    CHECK(row(screen, 0) == "one");
    CHECK(row(screen, 1) == "two");
    CHECK(screen.cursor() == ScreenPosition{1, 3});
    CHECK_FALSE(screen.is_cursor_visible());
    CHECK(screen.title() == "a title");
    CHECK_FALSE(screen.is_alternate());

    (void)screen.feed("\x1b[?1049h\x1b[?25hinside");
    CHECK(screen.is_alternate());
    CHECK(screen.is_cursor_visible());
    CHECK(row(screen, 0) == "");
    CHECK(row(screen, 1) == "   inside");

    (void)screen.feed("\x1b[?1049l");
    CHECK_FALSE(screen.is_alternate());
    CHECK(row(screen, 1) == "two");
    CHECK(screen.cursor() == ScreenPosition{1, 3});
}

TEST_CASE("only rows that have changed have a new version") {
    Screen screen = fed("one\r\ntwo\r\nthree");
    CHECK(screen.version() == first_version);
    CHECK(changed_since(screen, first_version).empty());

    screen.set_version(first_version + 1);
    (void)screen.feed("\x1b[2;1Htwo\x1b[3;1HThree"); // the second row is as it was
    CHECK(changed_since(screen, first_version) == std::vector<std::size_t>{2});

    screen.set_version(first_version + 2);
    (void)screen.feed("\r\n\n"); // scrolls by one
    CHECK(changed_since(screen, first_version + 1) == std::vector<std::size_t>{0, 1, 2, 3});

    screen.set_version(first_version + 3);
    (void)screen.feed("\x1b[1;1H");
    CHECK(changed_since(screen, first_version + 2).empty());
    screen.resize({5, 10});
    CHECK(changed_since(screen, first_version + 2).size() == 5);
}

TEST_CASE("styles are told") {
    const Screen screen = fed("\x1b[1;3;4;31;48;5;200mA\x1b[0;7;9;38;2;1;2;3mB\x1b[0mC");
    const core::Style first = cell(screen, 0, 0).style;
    CHECK(first.bold);
    CHECK(first.italic);
    CHECK(first.underline == 1);
    CHECK(first.foreground == core::Color{core::Color::Kind::indexed, {1}});
    CHECK(first.background == core::Color{core::Color::Kind::indexed, {200}});
    const core::Style second = cell(screen, 0, 1).style;
    CHECK(second.reverse);
    CHECK(second.strike);
    CHECK(second.foreground == core::Color{core::Color::Kind::rgb, {1, 2, 3}});
    CHECK(cell(screen, 0, 2).style == core::Style());

    const std::vector<core::Run> runs = core::runs_of(screen.grid().row(0));
    REQUIRE(runs.size() == 3);
    CHECK(runs[1].col == 1);
    CHECK(runs[1].width == 1);
    CHECK(runs[1].text == "B");
}

TEST_CASE("a wide character has two cells, and is never cut in half") {
    Screen screen = fed("a\xe6\xbc\xa2z");
    CHECK(cell(screen, 0, 1).width == 2);
    CHECK(cell(screen, 0, 2).width == 0);
    CHECK(row(screen, 0) == "a\xe6\xbc\xa2z");
    (void)screen.feed("\x1b[1;3Hx");
    CHECK(row(screen, 0) == "a xz");
    screen = fed("12345678\xe6\xbc\xa2");
    screen.resize({4, 9});
    CHECK(row(screen, 0) == "12345678");
}

TEST_CASE("marks stay on their character, and only a few of them") {
    std::string text = "e";
    for (int i = 0; i < 1000; ++i)
        text += "\xcc\x81";
    const Screen screen = fed(text + "x");
    CHECK(row(screen, 0) == "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81x");
    CHECK(screen.cursor() == ScreenPosition{0, 2});
}

TEST_CASE("every character that libvterm takes for a mark is kept from it") {
    Screen screen = made({2, 80});
    for (char32_t c = 0xa0; c < 0xe1000; ++c) {
        if (c >= 0xd800 && c < 0xe000) c = 0xe000;
        if (c == 0x30000) c = 0xe0000;
        std::string text = "\ra";
        core::append_utf8(text, c);
        (void)screen.feed(text);
        const std::size_t width = screen.cursor().col - 1;
        const bool is_right = core::draws_nothing(c) ? width == 0 : width == 1 || width == 2;
        if (!is_right)
            FAIL_CHECK("code point " << static_cast<std::uint32_t>(c) << ", width " << width);
    }
}

TEST_CASE("text cannot hide, or turn other text") {
    CHECK(row(fed("a\xe2\x80\xae"
                  "b"),
              0) == "ab"); // right to left
    CHECK(row(fed("a\xf3\xa0\x81\x81"
                  "b"),
              0) == "ab"); // a tag
    CHECK(row(fed("a\xc2\x9b"
                  "31mb"),
              0) == "a31mb");                                           // CSI of 8 bits
    CHECK(row(fed("a\xff\xc3(b"), 0) == "a\xef\xbf\xbd\xef\xbf\xbd(b"); // no UTF-8
    CHECK(fed("\x1b]0;a\xe2\x80\xae\xc2\x9b"
              "b\x07")
              .title() == "a\xef\xbf\xbd"
                          "b");
    CHECK(fed("\x1b]0;" + std::string(1 << 20, 'x') +
              "\x07"
              "after")
              .title()
              .size() <= Screen::longest_title);
}

TEST_CASE("sequences that libvterm cannot take do no harm") {
    std::string numbers = "\x1b[1";
    for (int i = 0; i < 40; ++i)
        numbers += ";99999999999999999999";
    for (const std::string& hostile :
         {numbers + "m", numbers + "H", std::string("\x1b[4294967295;4294967295H"),
          std::string("\x1b[38m\x1b[38;5m\x1b[48;2;1m\x1b[38:m\x1b[4:m"),
          std::string("\xcc\x81\x1b[1;5H\xcc\x81\x1b[999b"),
          std::string("\x1b[?69h\x1b[8;9s\x1b[4h"),
          std::string("\x1b[99;1r\x1b[3;2r\n\n\n\x1bM\x1bM\x1b[99L\x1b[99M\x1b[99@\x1b[99P"),
          std::string("\x1bP$qm\x1b\\\x1bP") + std::string(5000, 'q') + "\x1b\\",
          std::string("\x1b[!p\x1b[?1049h\x1b"
                      "c\x1b[?1049l"),
          std::string("\x1b(0\x1b)A\x1b*B\x1b+u\x1bn\x1bo\x1b~~}|\x0e\x0fqqq\xe6\xbc\xa2")}) {
        Screen screen = made();
        for (int round = 0; round < 3; ++round) {
            (void)screen.feed(hostile);
            screen.resize({1, 1});
            (void)screen.feed(hostile + "\x1b"
                                        "8text\n\n\x1bM");
            screen.resize({4, 10});
        }
        (void)screen.feed("\x1b"
                          "c\x1b[Hhello");
        CHECK(row(screen, 0) == "hello");
    }
}

TEST_CASE("no character set begins another sequence") {
    std::string numbers;
    for (int i = 0; i < 40; ++i)
        numbers += "1;";
    for (const char first : std::string_view("()*+-./#% "))
        for (char final = '0'; final < '\x7f'; ++final) {
            Screen screen = made();
            (void)screen.feed(std::string("\x1b") + first + final);
            (void)screen.feed(numbers + "i");
            (void)screen.feed("\x1b"
                              "c\x1b[Hhello");
            CAPTURE(first);
            CAPTURE(final);
            CHECK(row(screen, 0) == "hello");
        }
}

TEST_CASE("a smaller screen resets its scroll region and keeps the row of the cursor") {
    Screen screen = fed("a\r\nb\r\nc\r\nd\x1b[3;4r\x1b[4;1H\x1b"
                        "7");
    screen.resize({2, 10});
    CHECK(row(screen, 0) == "c");
    CHECK(row(screen, 1) == "d");
    CHECK(screen.cursor() == ScreenPosition{1, 0});
    (void)screen.feed("\n\n\x1b"
                      "8x\n\x1b[5S");
    CHECK(screen.cursor().row == 1);
}

TEST_CASE("queries are answered into a bounded text") {
    Screen screen = fed("ab\x1b[6n\x1b[c\x1b[5n\x1b[>c\x1b[?2004$p\x1bP$qm\x1b\\");
    CHECK(screen.take_replies() == "\x1b[1;3R\x1b[?1;2c\x1b[0n\x1b[>0;100;0c\x1b[?2004;2$y");
    CHECK(screen.take_replies() == "");
    for (int i = 0; i < 5000; ++i)
        (void)screen.feed("\x1b[6n");
    CHECK(screen.take_replies().size() <= Screen::longest_replies);
}

TEST_CASE("few bytes that change many cells are taken in parts") {
    Screen screen = made({1000, 100});
    std::string bytes;
    for (int i = 0; i < 100; ++i)
        bytes += "\x1b#8\x1b[2J";
    const std::size_t taken = screen.feed(bytes);
    CHECK(taken > 0);
    CHECK(taken < 100);
}

TEST_CASE("a sequence goes on in the next piece, and across a change of the size") {
    Screen screen = fed("\x1b[3");
    screen.resize({6, 12});
    (void)screen.feed("1mre\xe6");
    (void)screen.feed("\xbc");
    (void)screen.feed("\xa2");
    CHECK(row(screen, 0) == "re\xe6\xbc\xa2");
    CHECK(cell(screen, 0, 0).style.foreground == core::Color{core::Color::Kind::indexed, {1}});
}

TEST_CASE("a playback takes over each size where it began") {
    SizeHistory sizes;
    sizes.note(4, {2, 10}, {});
    sizes.note(4, {3, 5}, {});
    sizes.note(8, {4, 10}, {});
    Playback playback(made(), 0);
    CHECK(playback.play("abcd", sizes));
    CHECK(playback.screen().size() == ScreenSize{3, 5});
    CHECK(playback.play("efghijkl", sizes));
    CHECK(playback.position() == 12);
    CHECK(playback.screen().size() == ScreenSize{4, 10});
    CHECK(row(playback.screen(), 0) == "abcde");
    CHECK(row(playback.screen(), 1) == "fghijkl");

    for (std::uint64_t i = 0; i < 2 * SizeHistory::most; ++i)
        sizes.note(100 + i, {i % 5 + 1, 10}, {});
    CHECK(sizes.at(1000) == ScreenSize{(2 * SizeHistory::most - 1) % 5 + 1, 10});
}

TEST_CASE("output without its beginning is shown from a whole line or sequence on") {
    CHECK(core::first_whole("1mrest\nline") == 7);
    CHECK(core::first_whole("1mrest\x1b[0m") == 6);
    CHECK(core::first_whole("rest") == 0);
}

TEST_CASE("any bytes and sizes are taken") {
    test::Random random(11);
    constexpr std::string_view alphabet =
        "\x1b\x1b\x1b[[[;;:?>!$ '#0123456789hlmHJKLMPSTXbcdrsu@78=c()*+]\\"
        "\x07\x08\t\n\r\x18"
        "ab\xe6\xbc\xa2\xcc\x81\xf0\x9f\x98\x80";
    for (int round = 0; round < 300; ++round) {
        Screen screen = made({1 + random.below(6), 1 + random.below(12)});
        for (int step = 0; step < 30; ++step) {
            std::string bytes;
            for (std::size_t left = random.below(40); left > 0; --left)
                bytes += alphabet[random.below(alphabet.size())];
            (void)screen.feed(bytes);
            if (random.below(4) == 0) screen.resize({random.below(9), random.below(20)});
            CHECK(screen.cursor().row < screen.size().rows);
            CHECK(screen.cursor().col < screen.size().cols);
        }
    }
}

TEST_SUITE_END();
