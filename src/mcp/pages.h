// Long output page by page, for read_output.
#pragma once

#include "mcp/outcome.h"
#include "protocol/process_output.h"

#include <cstdint>

namespace ew::mcp {

// Cursors of read_output: the number of the last chunk that was given whole, and how many bytes of
// the next one were given too.
struct PageCursor {
    std::uint64_t seq = 0;
    std::uint64_t offset = 0;
};

PageCursor cursor_of(std::uint64_t after);
Outcome page_of(const protocol::ReadResult& result, PageCursor from);

} // namespace ew::mcp
