// Reads the text of a patch. Lines count from 1, in the text as it was given.
//
// What is accepted beyond the plain format: blanks and empty lines around the text, CRLF, blanks
// around the first and last line and around headers, the whole as a here-document (`<<'EOF'` …
// `EOF`), empty lines between changes, a first chunk without `@@`, several `@@` lines in front of
// a chunk, an empty line as an empty context line, and a file that is only moved.
#pragma once

#include "base/result.h"
#include "patch/patch.h"

#include <cstddef>
#include <string_view>

namespace ew::patch {

constexpr std::size_t longest_patch = 4 << 20; // bytes
constexpr std::size_t most_changes = 1000;
constexpr std::size_t most_chunks = 10'000; // in all files together
constexpr std::size_t most_contexts = 16;   // of one chunk
constexpr std::size_t longest_path = 4095;  // bytes; PATH_MAX without its NUL

// Added files end their lines as the patch does behind the `+`: in a patch that is CRLF from its
// first line on, the CR belongs to the patch, and the file gets LF.
//
// No path may be named twice, be it as the file of a change or as the place that one is moved to:
// what the second would mean depends on an order that changes applied together do not have. Paths
// are compared without `.` and doubled slashes; a file moved to itself stays.
//
// Errors: invalid_params ("line 3: …"), limit.
Result<Patch> parse(std::string_view text);

// Is this the error of parse() for a patch that is sound and has no changes?
bool says_empty(const Error& error);

// The changes that a patch has so far whose rest is still to come, for showing progress. More text
// never makes them fewer. Nothing but the beginning of the text is read once there is an error, and
// a line counts when it has ended.
Patch parse_unfinished(std::string_view text);

} // namespace ew::patch
