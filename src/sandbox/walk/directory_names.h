// The names in a directory, read in large pieces: this makes the search of a big tree fast enough.
// A directory is never opened through a link, and nothing but directories is opened.
#pragma once

#include "base/unique_fd.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <span>
#include <string>
#include <string_view>

namespace ew::sandbox {

class DirectoryNames {
public:
    // Sets errno if the directory cannot be opened.
    explicit DirectoryNames(const std::string& directory);

    bool is_open() const { return static_cast<bool>(fd_); }

    int fd() const { return fd_.get(); }

    // Calls `take` with each name except . and .., and its d_type. Returns false if the directory
    // could not be read to its end.
    template <class Take>
    bool each(std::span<char> buffer, Take take) const {
        while (true) {
            const long count = ::syscall(SYS_getdents64, fd_.get(), buffer.data(), buffer.size());
            if (count <= 0) return count == 0;
            for (long at = 0; at < count;) {
                const auto* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
                at += entry->d_reclen;
                const std::string_view name = entry->d_name;
                if (name != "." && name != "..") take(name, entry->d_type);
            }
        }
    }

    // Is the entry with that d_type a directory, and no link to one?
    bool is_directory(std::string_view name, unsigned char type) const;

private:
    UniqueFd fd_;
};

// A directory could not be opened with that error. Could a command make it readable, or use names
// in it without reading it? chmod is enough for our own directories, and a directory that can be
// searched gives what is in it to everybody who knows the name. A directory whose owner cannot be
// found out counts as ours.
bool may_be_entered(const std::string& path, int error);

} // namespace ew::sandbox
