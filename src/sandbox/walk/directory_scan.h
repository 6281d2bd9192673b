// One directory of a walk, and the findings of all of them together.
#pragma once

#include "sandbox/walk/directory_names.h"
#include "sandbox/walk/tracks.h"
#include "sandbox/walk/walk_order.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::sandbox {

struct DirectoryScan {
    bool is_work_tree = false;
    std::vector<std::pair<std::uint32_t, std::string>> matches = {}; // pattern, name
    std::vector<std::pair<std::string, Tracks::Track>> below = {};   // directories to search
    bool is_searchable = false;                                      // what is in it can be reached
    int error = 0; // errno; 0: the directory was read to its end, and is searchable
};

// Directories that tools fill with thousands of files, and that are unlikely to contain a
// repository. They are searched last.
bool is_filled_by_tools(std::string_view name);

// Reads the names in a directory.
DirectoryScan scan_directory(const DirectoryNames& names, const std::string& path,
                             Tracks::Track track, Tracks& tracks);

class Gathered {
public:
    explicit Gathered(const Tracks& tracks, std::size_t patterns);

    void add_work_tree(const std::string& path);
    void add_match(std::uint32_t pattern, std::string path);
    // If there are many, directories above them are told.
    void add_unsearched(std::string path, Tracks::Track track);

    // The directory could not be opened or read.
    void add_unreadable(std::string path, Tracks::Track track, int error);

    std::size_t matches() const { return matches_; }

    WalkFindings take();

private:
    void tell_unsearched();

    const Tracks& tracks_;
    WalkFindings found_;
    std::vector<std::pair<std::string, Tracks::Track>> unsearched_;
    std::size_t matches_ = 0;
};

} // namespace ew::sandbox
