// A line of /proc/self/mountinfo (proc_pid_mountinfo(5)). Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ew::sandbox::init {

// Points into the line. Blanks in it are written as octal numbers: see unescape().
struct MountLine {
    std::uint64_t id = 0;    // as statx(2) tells it (STATX_MNT_ID)
    std::uint64_t major = 0; // of the device
    std::uint64_t minor = 0;
    std::string_view source = {}; // "MAJOR:MINOR ROOT": what it shows, wherever that is
    std::string_view path = {};   // where it is
    std::string_view type = {};   // of the file system
    bool is_read_only = false;
};

// `line`: without its end. False: not such a line.
bool parse_mount(std::string_view line, MountLine& mount);

// Turns "\040" and the like into what they stand for. Returns the length of the result, which is
// not longer than `escaped`; `to` may be the same place.
std::size_t unescape(std::string_view escaped, char* to);

// Is the absolute path at or below the directory?
bool is_within(std::string_view path, std::string_view directory);

} // namespace ew::sandbox::init
