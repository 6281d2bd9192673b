#include "transcript/recorded_screen.h"

#include "core/screen/row_text.h"
#include "core/screen/svg.h"

#include <optional>
#include <string_view>

namespace ew::transcript {

namespace {

using Event = RecordedTerminal::Event;

void feed(core::Screen& screen, std::string_view bytes) {
    while (!bytes.empty()) {
        bytes.remove_prefix(screen.feed(bytes));
        (void)screen.take_replies(); // the program that asked has gone
    }
}

} // namespace

Result<core::Screen> last_screen(const RecordedTerminal& terminal) {
    core::Screen screen = TRY(core::Screen::of(terminal.size, 0));
    for (const Event& event : terminal.events) {
        if (event.kind == Event::Kind::output) feed(screen, event.bytes);
        if (event.kind == Event::Kind::resize) screen.resize(event.size);
    }
    return screen;
}

std::string picture_of(const core::Screen& screen) {
    std::optional<core::ScreenPosition> cursor;
    if (screen.is_cursor_visible()) cursor = screen.cursor();
    return core::svg_of(screen.grid(), cursor, screen.title());
}

std::string text_of(const core::Screen& screen) {
    std::string text;
    std::size_t end = 0; // of the last row that is not empty
    for (std::size_t i = 0; i < screen.size().rows; ++i) {
        const std::string row = core::text_of(screen.grid().row(i));
        text += row + '\n';
        if (!row.empty()) end = text.size();
    }
    text.resize(end);
    return text;
}

} // namespace ew::transcript
