// Output for a language model: not longer than so many tokens, and exact about what is missing.
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
    std::uint64_t original_tokens = 0; // of everything, as it was before it was cut
    std::uint64_t omitted_bytes = 0;   // bytes of output that are not in `text`
};

std::uint64_t tokens_of(std::uint64_t bytes);

// Output of which `head` and `tail` were kept and `omitted_between` bytes were not; both are valid
// UTF-8. At most `max_tokens` of it are in the text. Markers and the line about lines come on top.
Excerpt shorten(std::string_view head, std::string_view tail, std::uint64_t omitted_between,
                std::uint64_t max_tokens);

struct ModelText {
    std::string chunk_id = {}; // empty: none
    std::chrono::nanoseconds wall_time{0};
    std::optional<int> exit_code = {};          // of a process that has ended
    std::optional<std::string> process_id = {}; // of one that runs
    std::optional<std::uint64_t> original_tokens = {};
    std::string_view output = {}; // borrowed for the call
};

// The answer to a call in the words that models know.
std::string model_text(const ModelText& fields);

} // namespace ew::core
