// The text of a transcript (docs/transcripts.md) as steps.
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
        kill,
        restart,
    };

    Kind kind = Kind::send;
    int line = 0;                     // in the file, from 1
    std::string text = {};            // as written behind the sign
    std::optional<Node> message = {}; // absent: no JSON
    bool is_verbatim = true;          // to be sent as written: nothing in it stands for something
    int number = 0;                   // the exit status, or milliseconds

    // Words that the server gets behind its command; only of options.
    std::vector<std::string> words() const;
};

// An error's message begins with the number of the line and a colon.
Result<std::vector<Step>> parse_transcript(std::string_view text);

// A name such as "$session": a dollar and a word, and nothing else.
bool is_name(std::string_view text);

} // namespace ew::transcript
