// The names in an open directory, one after the other, so that a large one takes no memory.
#pragma once

#include "os/directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace ew::files {

// From its beginning; `directory` is borrowed. Null, with errno: it cannot be read.
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

// The next but "." and "..". Null: the end, or errno is not 0.
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
