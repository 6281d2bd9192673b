// Plays the client's side of a transcript against a server and compares what the server says.
#pragma once

#include "base/clock.h"
#include "transcript/expectations.h"
#include "transcript/format.h"
#include "transcript/shapes.h"

#include <optional>
#include <string>
#include <vector>

namespace ew::transcript {

struct PlaySettings {
    std::vector<std::string> server; // the command; it starts in an empty directory
    bool trusts_recording = false;   // else every question is answered with "denied"
    bool has_test_ids = false;       // each server that is started gets ids of its own
    Millis patience{30'000};         // how long to wait for each expected message
};

// Returns nullopt if everything was as written. Starts nothing if the recording is not trusted and
// has a step that needs trust (restraint.h). A discord without a line and message means that the
// transcript could not be played at all.
std::optional<Discord> play(const std::vector<Step>& steps, const Shapes& shapes,
                            const PlaySettings& settings);

// Formats a discord for people: "FILE:LINE: what", the difference, the line and the message.
std::string describe(const Discord& discord, std::string_view file);

} // namespace ew::transcript
