// Makes the last screen of a terminal in a recorded session.
#pragma once

#include "base/result.h"
#include "core/screen/screen.h"
#include "transcript/recorded_terminals.h"

#include <string>

namespace ew::transcript {

// Errors: as Screen::of().
Result<core::Screen> last_screen(const RecordedTerminal& terminal);

// The same as a picture, and as text: a line for each row up to the last one that is not empty.
std::string picture_of(const core::Screen& screen);
std::string text_of(const core::Screen& screen);

} // namespace ew::transcript
