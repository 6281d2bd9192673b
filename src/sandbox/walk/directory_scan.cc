#include "sandbox/walk/directory_scan.h"

#include "core/text/paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>

namespace ew::sandbox {

namespace {

bool exists(const std::string& path) {
    struct stat status = {};
    return ::lstat(path.c_str(), &status) == 0;
}

// Unites those of one path: a pattern or a root may lead there from several directories.
void sort_and_unite(std::vector<LeftOut>& all) {
    std::ranges::sort(all, {}, &LeftOut::path);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (kept == 0 || all[kept - 1].path != all[i].path) {
            std::swap(all[kept++], all[i]);
            continue;
        }
        LeftOut& same = all[kept - 1];
        same.is_in_root = same.is_in_root || all[i].is_in_root;
        same.patterns.insert(same.patterns.end(), all[i].patterns.begin(), all[i].patterns.end());
        std::ranges::sort(same.patterns);
        same.patterns.erase(std::unique(same.patterns.begin(), same.patterns.end()),
                            same.patterns.end());
    }
    all.resize(kept);
}

} // namespace

bool is_filled_by_tools(std::string_view name) {
    constexpr std::array<std::string_view, 8> names = {"node_modules", "target", ".venv",  "venv",
                                                       "__pycache__",  "build",  ".cache", "dist"};
    return std::ranges::find(names, name) != names.end();
}

DirectoryScan scan_directory(const DirectoryNames& names, const std::string& path,
                             Tracks::Track track, Tracks& tracks) {
    DirectoryScan scan;
    alignas(dirent64) std::array<char, 32768> buffer;
    std::map<std::uint32_t, std::size_t> counts;
    const bool seeks_repositories = tracks.seeks_repositories(track);
    const bool is_read = names.each(buffer, [&](std::string_view name, unsigned char type) {
        if (seeks_repositories && name == ".git") scan.is_work_tree = true;
        tracks.matching(track, name, [&](std::uint32_t pattern) {
            if (counts[pattern]++ <= most_matches) scan.matches.emplace_back(pattern, name);
        });
        if (type == DT_REG || !names.is_directory(name, type)) return;
        const Tracks::Track next = tracks.below(track, path, name);
        if (next != Tracks::no_track) scan.below.emplace_back(name, next);
    });
    if (!is_read) scan.error = errno;
    // Names that can be read, of files that cannot be reached, cannot be hidden one by one. What is
    // in a .git cannot be found either.
    scan.is_searchable = ::faccessat(names.fd(), ".", X_OK, AT_EACCESS) == 0;
    if (!scan.is_searchable && (seeks_repositories || !scan.matches.empty())) {
        scan.error = errno;
        scan.matches.clear();
    }
    return scan;
}

Gathered::Gathered(const Tracks& tracks, std::size_t patterns) : tracks_(tracks) {
    found_.matches.resize(patterns);
}

void Gathered::add_work_tree(const std::string& path) {
    if (!tracks_.is_outermost_root(path)) found_.work_trees.push_back(path);
}

void Gathered::add_match(std::uint32_t pattern, std::string path) {
    ++matches_;
    found_.matches[pattern].push_back(std::move(path));
}

void Gathered::add_unsearched(std::string path, Tracks::Track track) {
    unsearched_.emplace_back(std::move(path), track);
}

// Nobody needs to know more of them than can be closed one by one.
void Gathered::tell_unsearched() {
    constexpr std::size_t most_told = 1'024;
    constexpr std::size_t most_levels = 64;
    std::map<std::string, std::set<Tracks::Track>> told;
    for (std::size_t levels = 1; levels <= most_levels; ++levels) {
        std::map<std::string, std::set<Tracks::Track>> further;
        for (const auto& [path, track] : unsearched_) {
            further[tracks_.below_start(path, levels)].insert(track);
            if (further.size() > most_told && levels > 1) break;
        }
        if (further.size() > most_told && levels > 1) break;
        told = std::move(further);
    }
    for (const auto& [path, tracks] : told)
        for (const Tracks::Track track : tracks)
            found_.unsearched.push_back(
                {path, tracks_.seeks_repositories(track), tracks_.patterns_at(track)});
}

// Names the nearest directory that can be reached: the directories below it could be anybody's.
void Gathered::add_unreadable(std::string path, Tracks::Track track, int error) {
    if (!may_be_entered(path, error)) return;
    while (!tracks_.is_start(path) && !exists(path))
        path = core::parent_of(path);
    found_.unreadable.push_back(
        {std::move(path), tracks_.seeks_repositories(track), tracks_.patterns_at(track)});
}

WalkFindings Gathered::take() {
    std::ranges::sort(found_.work_trees);
    for (std::vector<std::string>& paths : found_.matches)
        std::ranges::sort(paths);
    tell_unsearched();
    sort_and_unite(found_.unreadable);
    sort_and_unite(found_.unsearched);
    return std::move(found_);
}

} // namespace ew::sandbox
