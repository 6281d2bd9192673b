// Parses the text of a patch. Lines count from 1, in the text as it was given.
//
// Accepted beyond the plain format: white space and empty lines around the text, CRLF, blanks
// around the first and last line and around headers, the whole patch as a here-document (`<<'EOF'`
// … `EOF`), empty lines between changes, a first chunk without `@@`, several `@@` lines before a
// chunk, an empty line as an empty context line, and a file that is only moved.
#pragma once

#include "base/result.h"
#include "patch/patch.h"

#include <cstddef>
#include <string_view>

namespace ew::patch {

constexpr std::size_t longest_patch = 4 << 20; // bytes
constexpr std::size_t most_changes = 1000;
constexpr std::size_t most_chunks = 10'000; // in all files together
constexpr std::size_t most_contexts = 16;   // per chunk
constexpr std::size_t longest_path = 4095;  // bytes; PATH_MAX without its NUL

// Added files keep the line ends behind the `+`. If the patch uses CRLF from its first line on, the
// CR belongs to the patch, and the file gets LF.
//
// No path may be named twice, neither as the file of a change nor as the destination of a move: the
// meaning of the second would depend on an order, and the changes of a patch have no order. Paths
// are compared without `.` and doubled slashes. A file moved to itself stays.
//
// Errors: invalid_params ("line 3: …"), limit.
Result<Patch> parse(std::string_view text);

} // namespace ew::patch
