// What a program does about its input, over time: a single look cannot tell a program that waits
// from one that briefly looks for input between its work.
#pragma once

#include "base/clock.h"
#include "os/input_reader.h"
#include "protocol/input_state.h"

#include <optional>

namespace ew::server {

struct Process;

// One look at a program.
struct InputLook {
    protocol::InputKind kind = protocol::InputKind::none;
    os::ReaderLook reading = {}; // by any of the processes that may read
};

// Pure.
class InputMemory {
public:
    // The shortest time between two looks that tell whether a program rests between short waits.
    static constexpr Millis between_looks{200};
    // How long a program must be silent if only the mode of its terminal is known.
    static constexpr Millis silence{1000};
    // How long the kernel may take to wake a reader after input was written.
    static constexpr Millis waking_time{50};

    // When something last happened, as the server knows.
    struct Activity {
        TimePoint output = {};
        TimePoint input = {};
        bool has_queued_input = false; // input that the program has not taken
    };

    protocol::InputState note(const InputLook& look, const Activity& activity, TimePoint now);

private:
    void note_reader(const os::ReaderLook& look, TimePoint now);
    void note_brief_reader(const os::ReaderLook& look, TimePoint now);

    std::optional<os::InputReader> seen_;
    TimePoint seen_at_;
    std::optional<TimePoint> waits_since_;
};

// Looks at a running process. Returns nullopt if its backend cannot look.
std::optional<protocol::InputState> input_state(Process& process, TimePoint now);

// Returns true if the terminal of the process does not show what is typed now.
bool hides_input(const Process& process);

} // namespace ew::server
