// The update of one file: its bytes before, the chunks, its bytes after.
//
// A chunk is looked for behind the one before it. `@@` lines are looked for first, each behind the
// other, and move the beginning of that search. The lines of the chunk, without those it adds, must
// then stand together; see patch/match.h for how strictly they are compared. Of several places that
// match exactly the first counts. If lines match only with something disregarded, there must be one
// place, or it is refused; likewise if an `@@` line could mean several lines that only resemble it,
// and the lines of the chunk do not settle which.
//
// - A chunk that only adds lines adds them behind its `@@` line, or, without one or with `*** End
//   of File`, at the end.
// - A chunk with `*** End of File` is looked for at the end first, then as any other.
// - Empty lines at the end of a chunk that the file does not have are taken for separators in the
//   patch. At the end of the file, one that is to be removed is taken for what follows the last
//   newline.
// - If the lines of a chunk begin with the line that its `@@` already named, that line is meant.
// - Lines that stay are those of the file, byte for byte.
// - An added line ends as the line it stands in place of, or as the one before it, or behind it.
// - A file without a newline at its end keeps lacking it. An empty file lacks none. A newline comes
//   there if an empty line is added at the end.
// - A byte order mark stays, unless the chunks have one themselves.
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

// Where a chunk was found. One that only adds lines stands in front of that line.
struct ChunkMatch {
    std::size_t line = 0;                 // of the file before, from 1
    MatchLevel level = MatchLevel::exact; // the laxest of its lines and its `@@` lines
};

struct Updated {
    std::string bytes;
    std::vector<ChunkMatch> matches; // one for each chunk
};

// Errors: invalid_params (the chunks do not fit the file; "line 3: …" is a line of the patch),
// limit.
Result<Updated> apply(const Update& update, std::string_view bytes);

} // namespace ew::patch
