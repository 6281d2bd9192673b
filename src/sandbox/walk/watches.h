// An instance of inotify(7) that watches the names in directories and the modes of directories.
//
// The kernel queues the event of a change before the system call that makes the change returns. So
// whoever reads all events that are there knows of every change that was complete by then.
#pragma once

#include "base/unique_fd.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ew::sandbox {

struct Change {
    int watch = -1;
    std::uint32_t kinds = 0;    // IN_CREATE and the like
    std::string_view name = {}; // in the directory; empty: the directory itself

    bool is_of_directory() const { return (kinds & IN_ISDIR) != 0; }
};

class Watches {
public:
    Watches() : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

    bool are_open() const { return static_cast<bool>(fd_); }

    int fd() const { return fd_.get(); }

    // Returns the number of the watch: a directory that is watched keeps its number, whatever its
    // path. Returns -1 and sets errno if the path is no directory that can be read, or is a link,
    // or if there are too many watches (ENOSPC).
    int add(const std::string& directory) const;

    void remove(int watch) const;

    // Calls `take` with each change that is there. Returns false if changes were lost.
    template <class Take>
    bool each(Take take) const {
        alignas(inotify_event) std::array<char, 65536> buffer;
        while (true) {
            const ssize_t count = ::read(fd_.get(), buffer.data(), buffer.size());
            if (count <= 0) return count < 0 && errno == EAGAIN;
            for (ssize_t at = 0; at < count;) {
                const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
                at += static_cast<ssize_t>(sizeof *event + event->len);
                if ((event->mask & IN_Q_OVERFLOW) != 0) return false;
                take(Change{event->wd, event->mask,
                            event->len == 0 ? std::string_view() : std::string_view(event->name)});
            }
        }
    }

private:
    UniqueFd fd_;
};

// Does inotify tell each change of names and modes in the file system of this directory, whichever
// program makes it? Only local file systems that are known to do so count.
bool tells_all_changes(int directory);

} // namespace ew::sandbox
