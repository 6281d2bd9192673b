// Read-only rules that no entry of a policy names, within bounds: each of them becomes one or more
// mounts. What is beyond a bound is closed with a directory above it, and told; nothing is left
// open.
#pragma once

#include "sandbox/plan/path_rules.h"

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::sandbox {

class ProtectiveRules {
public:
    explicit ProtectiveRules(PathRules& rules);

    bool is_writable(const std::string& path) const;

    // Has the path a rule of its own, or is it a root of the workspace where all is writable?
    bool is_root(const std::string& path) const;

    // The roots that are not for temporary files. Other users and programs have files in those.
    void set_kept(std::vector<std::string> roots) { kept_ = std::move(roots); }

    bool is_temporary(const std::string& path) const;

    // The roots themselves are done: from now on the bound of mounts counts.
    void begin_search() { is_searching_ = true; }

    bool is_searching() const { return is_searching_; }

    // How many mounts, and how many stand-ins for what is missing, can still be made.
    std::size_t mounts_left() const { return mounts_left_; }

    std::size_t stand_ins_left() const { return stand_ins_left_; }

    // Makes an existing path read-only. `file`: the content of its placeholder, if it is a file.
    void add(const std::string& path, ResolvedPath::Kind kind,
             std::optional<std::string> file = {});

    // Keeps a missing path from being made: by a placeholder, a directory unless `file` is set.
    void hold(const std::string& path, std::optional<std::string> file);

    // Makes a directory read-only; the note says "it" and the reason, with the first directory for
    // each reason. Of a root, the start is refused instead if the policy requires every guarantee.
    void close(const std::string& path, std::string_view reason);

    // The same for the directories below `root` that contain these paths, as far down as
    // most_closed directories are enough.
    void close_above(const std::string& root, const std::vector<std::string>& paths,
                     std::string_view reason);

    // Adds a note: the path and the text after it.
    void tell(const std::string& path, std::string_view text);

private:
    std::string place_for(const std::string& path);
    bool is_named(const std::string& path) const;
    void close_whole(const std::string& path);
    void close_root(const std::string& root, std::string_view reason);

    PathRules& rules_;
    std::vector<std::string> kept_;
    bool is_searching_ = false;
    std::size_t mounts_left_;       // for protected paths that the search finds
    std::size_t stand_ins_left_;    // for paths of repositories
    std::size_t wholes_ = 0;        // directories closed as a whole
    std::set<std::string> reasons_; // those that have been told
    std::set<std::string> ways_;    // directories between a root and a protected path
};

} // namespace ew::sandbox
