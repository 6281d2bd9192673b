#include "core/output/excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace ew::core {

namespace {

bool is_inside_character(std::string_view text, std::size_t place) {
    return place < text.size() && (static_cast<unsigned char>(text[place]) & 0xc0) == 0x80;
}

std::string_view first_bytes(std::string_view text, std::size_t budget) {
    std::size_t size = std::min(budget, text.size());
    while (is_inside_character(text, size))
        --size;
    return text.substr(0, size);
}

std::string_view last_bytes(std::string_view text, std::size_t budget) {
    std::size_t begin = text.size() - std::min(budget, text.size());
    while (is_inside_character(text, begin))
        ++begin;
    return text.substr(begin);
}

// Counts the lines, including an unfinished last one.
std::size_t count_lines(std::string_view text) {
    const auto newlines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    return newlines + (text.empty() || text.back() == '\n' ? 0 : 1);
}

std::size_t bytes_of(std::uint64_t tokens) {
    constexpr std::uint64_t most = std::numeric_limits<std::size_t>::max() / bytes_per_token;
    return static_cast<std::size_t>(std::min(tokens, most) * bytes_per_token);
}

std::string line_about_lines(std::string_view head, std::string_view tail, bool is_all) {
    const std::size_t lines = is_all ? count_lines(head) : count_lines(head) + count_lines(tail);
    return fmt::format("Total output lines: {}{}\n\n", lines, is_all ? "" : " or more");
}

struct Ends {
    std::string_view left;
    std::string_view right;
};

// Gives half of the budget to each end. If one end is shorter than its half, the other end gets the
// rest; for that, the text between them must be among the omitted text.
Ends ends_of(std::string_view head, std::string_view tail, std::size_t budget) {
    const std::size_t half = budget / 2;
    if (head.size() < half) return {head, last_bytes(tail, budget - head.size())};
    if (tail.size() < budget - half) return {first_bytes(head, budget - tail.size()), tail};
    return {first_bytes(head, half), last_bytes(tail, budget - half)};
}

} // namespace

std::uint64_t tokens_of(std::uint64_t bytes) {
    return bytes / bytes_per_token + (bytes % bytes_per_token == 0 ? 0 : 1);
}

Excerpt shorten(std::string_view head, std::string_view tail, std::uint64_t omitted_between,
                std::uint64_t max_tokens) {
    if (omitted_between == 0 && !tail.empty())
        return shorten(std::string(head).append(tail), {}, 0, max_tokens);
    const std::size_t kept = head.size() + tail.size();
    const std::uint64_t total = kept + omitted_between;
    const std::size_t budget = bytes_of(max_tokens);
    const std::uint64_t tokens = tokens_of(total);
    const bool is_all = omitted_between == 0;
    if (is_all && total <= budget) return {std::string(head), tokens, 0};
    if (!is_all && kept <= budget && budget > 0)
        return {fmt::format("{}\n... {} bytes omitted ...\n{}", head, omitted_between, tail),
                tokens, omitted_between};

    const Ends ends =
        is_all ? Ends{first_bytes(head, budget / 2), last_bytes(head, budget - budget / 2)}
               : ends_of(head, tail, budget);
    return {fmt::format("{}{}…{} tokens truncated…{}", line_about_lines(head, tail, is_all),
                        ends.left, tokens_of(total - budget), ends.right),
            tokens, total - ends.left.size() - ends.right.size()};
}

std::string model_text(const ModelText& fields) {
    std::string text;
    if (!fields.chunk_id.empty()) text += fmt::format("Chunk ID: {}\n", fields.chunk_id);
    const std::chrono::duration<double> seconds = fields.wall_time;
    text += fmt::format("Wall time: {:.4f} seconds\n", seconds.count());
    if (fields.exit_code) text += fmt::format("Process exited with code {}\n", *fields.exit_code);
    if (fields.process_id)
        text += fmt::format("Process running with session ID {}\n", *fields.process_id);
    if (fields.original_tokens)
        text += fmt::format("Original token count: {}\n", *fields.original_tokens);
    if (!fields.note.empty()) text += fmt::format("Note: {}\n", fields.note);
    text += "Output:\n";
    text += fields.output;
    return text;
}

} // namespace ew::core
