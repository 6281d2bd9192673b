// Reading files whose owner and mode decide whether they are believed.
#pragma once

#include "base/result.h"

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace ew::config {

// Why somebody else could have written this file or directory: "belongs to user 1000", "is writable
// by others than its owner". Empty: only root and we can have.
std::string distrust_of(const struct stat& info);

struct FileText {
    std::string text;
    struct stat info = {};
};

// A regular file of at most `most` bytes, below the open directory (or AT_FDCWD). A symbolic link
// is followed; a pipe or device is refused, not waited for. Messages are about the file and do not
// name it: "cannot be opened: No such file or directory".
Result<FileText> read_regular_file(int directory, const std::string& name, std::size_t most);

} // namespace ew::config
