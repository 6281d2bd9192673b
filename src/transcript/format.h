// Parses the text of a transcript (docs/transcripts.md) into steps.
#pragma once

#include "transcript/node.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::transcript {

struct Step {
    enum class Kind : std::uint8_t {
        send,
        expect,
        end_of_input,
        exit_status,
        nothing,
        options, // for the server's command line
        setting, // a line of the server's config.toml
        kill,
        restart,
    };

    Kind kind = Kind::send;
    int line = 0;                     // in the file, from 1
    std::string text = {};            // as written after the sign
    std::optional<Node> message = {}; // nullopt if it is not JSON
    bool is_verbatim = true;          // sent as written, because it contains nothing to replace
    int number = 0;                   // the exit status, or milliseconds

    // Returns additional words for the server's command line; only for options.
    std::vector<std::string> words() const;

    // Returns what follows the name of a directive.
    std::string_view rest() const;
};

// On an error, the message begins with the number of the line and a colon.
Result<std::vector<Step>> parse_transcript(std::string_view text);

// Returns true for a name such as "$session": a dollar sign and one word.
bool is_name(std::string_view text);

} // namespace ew::transcript
