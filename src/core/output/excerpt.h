// Shortens output for a language model to a number of tokens, and says exactly how much is missing.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::core {

constexpr std::uint64_t bytes_per_token = 4; // an estimate

struct Excerpt {
    std::string text;
    std::uint64_t original_tokens = 0; // in the complete output, before it was cut
    std::uint64_t omitted_bytes = 0;   // bytes of output that are missing from `text`
};

std::uint64_t tokens_of(std::uint64_t bytes);

// `head` and `tail` are the retained parts of the output, and `omitted_between` bytes between them
// were discarded. Both are valid UTF-8. The text has at most `max_tokens` of output; markers and
// the line about lines come on top.
Excerpt shorten(std::string_view head, std::string_view tail, std::uint64_t omitted_between,
                std::uint64_t max_tokens);

struct ModelText {
    std::string chunk_id = {}; // empty if there is none
    std::chrono::nanoseconds wall_time{0};
    std::optional<int> exit_code = {};          // of a process that has ended
    std::optional<std::string> process_id = {}; // of a running process
    std::optional<std::uint64_t> original_tokens = {};
    std::string note = {};        // a sentence about the call; empty if there is none
    std::string_view output = {}; // borrowed for the call
};

// The answer to a call in the wording that models know.
std::string model_text(const ModelText& fields);

} // namespace ew::core
