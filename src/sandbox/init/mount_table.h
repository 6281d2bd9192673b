// A line of /proc/self/mountinfo (proc_pid_mountinfo(5)). Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ew::sandbox::init {

// Points into the line. Blanks are escaped as octal numbers: see unescape().
struct MountLine {
    std::uint64_t id = 0;    // as in statx(2) (STATX_MNT_ID)
    std::uint64_t major = 0; // of the device
    std::uint64_t minor = 0;
    std::string_view source = {}; // "MAJOR:MINOR ROOT": the directory that it shows, on its device
    std::string_view path = {};   // the mount point
    std::string_view type = {};   // of the file system
    bool is_read_only = false;
};

// `line` has no line end. Returns false if it is not a line of mountinfo.
bool parse_mount(std::string_view line, MountLine& mount);

// Replaces escapes such as "\040" by their characters. Returns the length of the result, which is
// not longer than `escaped`; `to` may be the same memory.
std::size_t unescape(std::string_view escaped, char* to);

// Is the absolute path at or below the directory?
bool is_within(std::string_view path, std::string_view directory);

} // namespace ew::sandbox::init
