// Reads files that are trusted only because of their owner and mode.
#pragma once

#include "base/result.h"

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace ew::config {

// Returns why another user could have written this file or directory: "belongs to user 1000", "is
// writable by others than its owner". Returns an empty string if only root and we could have
// written it.
std::string distrust_of(const struct stat& info);

// Returns why a file of this user may be written under another name: it has hard links. Returns an
// empty string if it has one name, or if only another user could write it under any name.
std::string distrust_of_names(const struct stat& info);

struct FileText {
    std::string text;
    struct stat info = {};
};

// Reads a regular file of at most `most` bytes, relative to the open directory (or AT_FDCWD).
// Follows a symlink. Refuses a pipe or device without waiting. Messages do not name the file:
// "cannot be opened: No such file or directory".
Result<FileText> read_regular_file(int directory, const std::string& name, std::size_t most);

} // namespace ew::config
