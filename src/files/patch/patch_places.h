// Resolves the paths of a patch.
#pragma once

#include "files/entry_ref.h"
#include "files/outcome.h"

#include <string>
#include <vector>

namespace ew::files {

// What a path may lead to.
enum class Wanted {
    file,         // an existing file; a symlink at the end is followed
    no_link,      // an existing file; a symlink at the end is refused
    file_or_none, // a file or nothing; a symlink at the end is followed if it leads to a file
};

struct Located {
    std::string path = {};              // canonical
    std::vector<std::string> made = {}; // missing directories on the way, outermost first
    EntryRef place = {};                // has no directory if that is missing
};

// `path` is absolute. Failures name `shown`.
Failure locate(const std::string& path, const std::string& shown, Wanted wanted, Located& located);

// Returns Trouble::outside if the file is not in one of the roots. Without roots it may be
// anywhere.
Failure check_inside(const Located& located, const std::string& shown,
                     const std::vector<std::string>& roots);

// Opens a directory by its canonical path. Fails if a component has become a symlink.
UniqueFd open_canonical(const std::string& directory, int flags);

} // namespace ew::files
