// Calls that change files by their path, which the filter notifies so that refused changes can be
// reported (FilterOptions::notifies_writes). A denial means that the policy refuses the path that
// the call names. Links are not followed and nothing is looked up, since disks may be slow. So the
// report of a path through a link may be wrong, either way, and a call that fails for another
// reason is reported as well. Nothing is decided here: mounts and Landlock decide.
#pragma once

#include "sandbox/supervise/caller.h"

#include <linux/seccomp.h>

#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

// Is it one of the calls of FilterOptions::notifies_writes?
bool is_file_change(int call);

struct FileChange {
    std::string_view operation = {}; // "open", "unlink", "rename", "mkdir", "link", "chmod", …
    // The changed paths as the caller sees them: absolute, without ".", ".." and double slashes. A
    // path that could not be read is left out.
    std::vector<std::string> paths = {};
};

// To be called while the call waits. Needs only the thread of the caller. Reads its memory and its
// links in /proc, without waiting.
FileChange read_file_change(const Caller& caller, const seccomp_data& data);

struct FilePlaces {
    std::vector<std::string> writable = {};  // writable roots
    std::vector<std::string> read_only = {}; // paths in them that must not be changed
    std::vector<std::string> own = {};       // the sandbox's own, without any report
};

enum class FileVerdict : std::uint8_t {
    allowed, // or not to be reported
    outside, // outside all writable roots
    closed,  // in a writable root, but read-only
};

// Does the path exist for that thread? It may be a link to nothing. Waits for the disk.
bool exists_for(pid_t thread, const std::string& path);

// The longest of the places that contain the path decides; of two for the same path the writable
// one. mkdir of a directory above a writable root is allowed: it exists.
FileVerdict judge_file_change(const FilePlaces& places, std::string_view operation,
                              std::string_view path);

} // namespace ew::sandbox
