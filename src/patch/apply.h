// Updates one file: takes its old bytes and the chunks, and returns its new bytes.
//
// The search for a chunk begins behind the chunk before it. The `@@` lines are searched first, each
// behind the previous one, and move the beginning of the search. Then the lines of the chunk,
// without the added ones, must be found as consecutive lines; patch/match.h defines how strictly
// lines are compared. Of several exact matches the first counts. If lines match only with something
// disregarded, there must be exactly one place, or the patch is refused. It is also refused if an
// `@@` line could mean several lines that match only inexactly, and the lines of the chunk do not
// decide between them.
//
// - A chunk with only added lines adds them behind its `@@` line. Without an `@@` line, or with
//   `*** End of File`, it adds them at the end.
// - A chunk with `*** End of File` is searched at the end first, then like any other chunk.
// - Empty lines at the end of a chunk that the file does not have count as separators in the patch.
//   At the end of the file, an empty line to be removed counts as the text behind the last newline.
// - If the first line of a chunk repeats the line of its `@@`, both mean the same line.
// - Context lines keep the bytes of the file.
// - If the lines of a chunk match only without the blanks in front, its added lines get the
//   indentation of the file, by one rule that holds for all lines in both: the same blanks more or
//   less, tabs for blanks, blanks for tabs, or as the lines of the same indentation. If none does,
//   the patch is refused.
// - An added line gets the line end of the line that it replaces, or else of the line before it, or
//   else of the line behind it.
// - A file without a newline at its end stays without one. An empty file does not count as such. A
//   file gets a newline at its end if an empty line is added there.
// - A byte order mark stays, unless the chunks contain one.
#pragma once

#include "base/result.h"
#include "patch/match.h"
#include "patch/patch.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ew::patch {

constexpr std::size_t largest_file = 16 << 20; // bytes
constexpr std::size_t most_file_lines = 1'000'000;

// The position of a chunk. A chunk with only added lines is in front of this line.
struct ChunkMatch {
    std::size_t line = 0;                 // in the old file, counted from 1
    MatchLevel level = MatchLevel::exact; // the least strict level of its lines and its `@@` lines
};

struct Updated {
    std::string bytes;
    std::vector<ChunkMatch> matches; // one per chunk
};

// Errors: invalid_params (the chunks do not fit the file; "line 3: …" is a line of the patch),
// limit.
Result<Updated> apply(const Update& update, std::string_view bytes);

} // namespace ew::patch
