// Calls that change files by their path, as the filter asks about them so that they can be told
// (FilterOptions::notifies_writes). What is told is that the policy refuses the path that was
// named: links are not followed and nothing is looked up, since disks may be slow. A path through a
// link may so be told wrongly, either way; and what fails for another reason is told as well.
// Nothing is decided here: mounts and Landlock do that.
#pragma once

#include "sandbox/supervise/caller.h"

#include <linux/seccomp.h>

#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

// One of the calls of FilterOptions::notifies_writes?
bool is_file_change(int call);

struct FileChange {
    std::string_view operation = {}; // "open", "unlink", "rename", "mkdir", "link", "chmod", …
    // What it changes, as the caller sees it: absolute, without ".", ".." and double slashes. One
    // that could not be read is left out.
    std::vector<std::string> paths = {};
};

// While the call waits. Needs only the thread of the caller. Reads its memory and its links in
// /proc, without waiting.
FileChange read_file_change(const Caller& caller, const seccomp_data& data);

struct FilePlaces {
    std::vector<std::string> writable = {};  // roots
    std::vector<std::string> read_only = {}; // in them, what may not be changed all the same
    std::vector<std::string> own = {};       // the sandbox's own, of which nothing is told
};

enum class FileVerdict : std::uint8_t {
    allowed, // or nothing to tell of
    outside, // of all writable roots
    closed,  // in a writable root, but read-only
};

// The longest of the places that the path lies in decides; of two for the same path the writable
// one. To make a directory that is there
// anyway, being above a writable root, is how tools make sure of it.
FileVerdict judge_file_change(const FilePlaces& places, std::string_view operation,
                              std::string_view path);

} // namespace ew::sandbox
