// Iterates over the names in an open directory, so that a large directory needs no memory.
#pragma once

#include "os/directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace ew::files {

// Starts at the first name; `directory` is borrowed. Returns null and sets errno if it cannot be
// read.
inline os::Directory list(int directory) {
    const int own = ::fcntl(directory, F_DUPFD_CLOEXEC, 3);
    if (own < 0) return {};
    os::Directory listing(::fdopendir(own));
    if (!listing) {
        const int why = errno;
        ::close(own);
        errno = why;
        return {};
    }
    ::rewinddir(listing.get()); // the position is shared with `directory`
    return listing;
}

// Returns the next entry except "." and "..". Returns null at the end, or if errno is not 0.
inline const dirent* next_entry(DIR* listing) {
    for (;;) {
        errno = 0;
        const dirent* const entry = ::readdir(listing);
        if (entry == nullptr) return nullptr;
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") return entry;
    }
}

} // namespace ew::files
