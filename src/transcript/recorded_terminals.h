// The terminals of a recorded session (docs/transcripts.md): what each has printed, and when.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "core/screen/cell.h"
#include "transcript/format.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ew::transcript {

struct RecordedTerminal {
    struct Event {
        enum class Kind : std::uint8_t { output, resize, exit };

        Kind kind = Kind::output;
        Millis at{0};
        std::string bytes = {};
        core::ScreenSize size = {};
        std::int64_t code = 0;
    };

    std::string process = {};
    core::ScreenSize size = {}; // at the start
    std::string command = {};
    Millis began{0};
    std::vector<Event> events = {};
};

struct Recorded {
    std::vector<RecordedTerminal> terminals;
    bool has_times = false; // false: all times are 0
};

// `text` is the transcript, `steps` are its steps.
Recorded recorded_terminals(std::string_view text, const std::vector<Step>& steps);

// Returns the terminal of this process; `process` may be empty if only one has a terminal. Errors:
// there is no such terminal.
Result<const RecordedTerminal*> chosen_terminal(const std::vector<RecordedTerminal>& terminals,
                                                const std::string& process);

} // namespace ew::transcript
