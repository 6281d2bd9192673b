// Where the paths of a patch lead.
#pragma once

#include "files/entry_ref.h"
#include "files/outcome.h"

#include <string>
#include <vector>

namespace ew::files {

// What may be there.
enum class Wanted {
    file,         // one that is there; a link at the end is followed
    no_link,      // the same, and no link
    file_or_none, // either; a link at the end is followed if it leads to a file
};

struct Located {
    std::string path = {};              // canonical
    std::vector<std::string> made = {}; // directories that are missing on the way, outermost first
    EntryRef place = {};                // without a directory if that is missing
};

// `path` is absolute. Failures name `shown`.
Failure locate(const std::string& path, const std::string& shown, Wanted wanted, Located& located);

// Trouble::outside unless it lies in one of the roots; no roots: it may lie anywhere.
Failure check_inside(const Located& located, const std::string& shown,
                     const std::vector<std::string>& roots);

// A directory by its canonical path: no component may be a link by now.
UniqueFd open_canonical(const std::string& directory, int flags);

} // namespace ew::files
