#include "mcp/pages.h"

#include "core/output/utf8.h"
#include "core/text/text.h"
#include "mcp/excerpt.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace ew::mcp {

namespace {

constexpr int offset_bits = 20; // a process keeps 1 MiB of its output

// A byte that is not UTF-8 becomes a character of three.
std::size_t size_of_one(char byte) {
    return static_cast<unsigned char>(byte) < 0x80 ? escaped_size(std::string_view(&byte, 1)) : 3;
}

// Returns how many bytes of the chunk fit into the room that is left, and takes that room.
std::size_t fitting(std::string_view chunk, std::size_t& room) {
    constexpr std::size_t most_of_one = 6; // a control character in JSON
    std::size_t taken = 0;
    while (taken < chunk.size() && room >= most_of_one)
        room -= size_of_one(chunk[taken++]);
    return taken < chunk.size() ? taken - core::unfinished_tail(chunk.substr(0, taken)) : taken;
}

} // namespace

PageCursor cursor_of(std::uint64_t after) {
    constexpr std::uint64_t one = 1;
    return {after >> offset_bits, after & ((one << offset_bits) - 1)};
}

// A page is as much as fits, cut at the end of a character.
Outcome page_of(const protocol::ReadResult& result, PageCursor from) {
    Outcome outcome;
    outcome.state = result.exited ? State::completed : State::running;
    outcome.exit_code = result.exit_code;
    outcome.signal = result.signal;
    std::string bytes;
    PageCursor next = from;
    std::uint64_t left = 0;
    std::size_t room = most_output;
    for (const protocol::OutputChunk& chunk : result.chunks) {
        std::string_view rest = chunk.chunk.bytes;
        const bool is_begun = chunk.seq == from.seq + 1;
        const std::size_t given = is_begun ? std::min<std::size_t>(from.offset, rest.size()) : 0;
        rest.remove_prefix(given);
        const std::size_t taken = left > 0 ? 0 : fitting(rest, room);
        bytes += rest.substr(0, taken);
        if (left == 0)
            next = taken == rest.size() ? PageCursor{chunk.seq, 0}
                                        : PageCursor{chunk.seq - 1, given + taken};
        left += rest.size() - taken;
    }
    outcome.output = plain(core::lossy(bytes));
    outcome.omitted_bytes = left + (from.seq == 0 ? result.lost_bytes : 0);
    outcome.next_after = (next.seq << offset_bits) | next.offset;
    return outcome;
}

} // namespace ew::mcp
