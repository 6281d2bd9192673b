#include "core/screen/screen.h"
#include "support/testing.h"
#include "transcript/recorded_screen.h"

#include <string>

using namespace ew;
using transcript::RecordedTerminal;

namespace {

RecordedTerminal printing(std::string bytes) {
    RecordedTerminal terminal;
    terminal.size = {4, 10};
    terminal.events.push_back({RecordedTerminal::Event::Kind::output, Millis(0), std::move(bytes)});
    return terminal;
}

std::string text_after(const RecordedTerminal& terminal) {
    Result<core::Screen> screen = transcript::last_screen(terminal);
    REQUIRE(screen);
    return transcript::text_of(*screen);
}

} // namespace

TEST_CASE("the last screen is what the terminal shows after all output" *
          doctest::skip(!core::Screen::is_available())) {
    CHECK(text_after(printing("one\r\ntwo\x1b[1;1HO\x1b[6n")) == "One\ntwo\n");
    CHECK(text_after(printing("\x1b[2;3Hx\r\n\r\n")) == "\n  x\n");
    CHECK(text_after(printing("")).empty());
}

TEST_CASE("the last screen has the last size" * doctest::skip(!core::Screen::is_available())) {
    RecordedTerminal terminal = printing("0123456789abc");
    terminal.events.insert(terminal.events.begin(),
                           {RecordedTerminal::Event::Kind::resize, Millis(0), {}, {3, 20}});

    CHECK(text_after(terminal) == "0123456789abc\n");
}

TEST_CASE("a very long output is shown to its end" * doctest::skip(!core::Screen::is_available())) {
    std::string much;
    for (int i = 0; i < 20'000; ++i)
        much += "\x1b[2J\x1b[H" + std::to_string(i);

    CHECK(text_after(printing(much)) == "19999\n");
}

TEST_CASE("a terminal that is too large for a screen is an error") {
    RecordedTerminal terminal;
    terminal.size = {100'000, 100'000};

    CHECK_FALSE(transcript::last_screen(terminal));
}
