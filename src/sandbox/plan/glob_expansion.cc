#include "sandbox/plan/glob_expansion.h"

#include "core/text/paths.h"
#include "sandbox/plan/directory_names.h"
#include "sandbox/plan/resolved_path.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace ew::sandbox {

namespace {

// One directory to search, with the positions in the pattern at which its names may continue.
struct Visit {
    std::string path;
    std::set<std::size_t> at;
    std::uint64_t depth = 0;
};

class Search {
public:
    Search(const std::string& base, const std::vector<std::string>& parts, const GlobBounds& bounds)
        : base_(base), parts_(parts), bounds_(bounds) {}

    Expansion run() {
        queue_.push_back({base_, with_skipped({0}), 0});
        for (std::size_t visited = 0; !queue_.empty() && expansion_.is_complete; ++visited) {
            if (visited == bounds_.directories) {
                expansion_.is_complete = false;
                break;
            }
            const Visit visit = std::move(queue_.front());
            queue_.pop_front();
            look_into(visit);
        }
        gather_crowded();
        std::ranges::sort(expansion_.paths);
        return std::move(expansion_);
    }

private:
    // "**" may match no component.
    std::set<std::size_t> with_skipped(std::set<std::size_t> at) const {
        for (const std::size_t place : std::set<std::size_t>(at))
            if (place < parts_.size() && parts_[place] == any_depth) at.insert(place + 1);
        return at;
    }

    bool is_last(std::size_t place) const { return place + 1 == parts_.size(); }

    void look_into(const Visit& visit) {
        const DirectoryNames names(visit.path);
        if (!names.is_open()) return note_unreadable(visit.path, errno);
        found_here_ = 0;
        const bool is_read = names.each(buffer_, [&](std::string_view name, unsigned char type) {
            take(visit, names, name, type);
        });
        if (!is_read) note_unreadable(visit.path, errno);
    }

    // Names the nearest directory that can be reached and is not too far down: each directory on
    // the way to a hidden one becomes a mount.
    void note_unreadable(std::string directory, int error) {
        constexpr std::ptrdiff_t most_levels = 32;
        constexpr std::size_t longest = 2048; // bytes
        if (!may_be_entered(directory, error)) return;
        while (directory != base_ &&
               (directory.size() > longest || !exists(directory) ||
                std::count(directory.begin() + static_cast<std::ptrdiff_t>(base_.size()),
                           directory.end(), '/') > most_levels))
            directory = core::parent_of(directory);
        if (std::ranges::find(expansion_.unclear, directory) == expansion_.unclear.end())
            add(expansion_.unclear, std::move(directory));
    }

    void take(const Visit& visit, const DirectoryNames& names, std::string_view name,
              unsigned char type) {
        std::set<std::size_t> next;
        for (const std::size_t place : visit.at) {
            if (place >= parts_.size()) continue;
            const bool is_any = parts_[place] == any_depth;
            if (!is_any && !matches(parts_[place], name)) continue;
            if (is_last(place)) return add_match(core::joined(visit.path, name));
            next.insert(is_any ? place : place + 1);
        }
        next = with_skipped(std::move(next));
        const bool is_deep = bounds_.depth && visit.depth + 1 > *bounds_.depth;
        if (next.empty() || is_deep || !names.is_directory(name, type)) return;
        queue_.push_back({core::joined(visit.path, name), std::move(next), visit.depth + 1});
    }

    // Of a directory with too many matches, some are enough for gather_crowded().
    void add_match(std::string path) {
        if (found_here_++ <= bounds_.matches) add(expansion_.paths, std::move(path));
    }

    void add(std::vector<std::string>& to, std::string path) {
        constexpr std::size_t most_gathered = 16; // times the bound
        if (to.size() == most_gathered * bounds_.matches)
            expansion_.is_complete = false;
        else
            to.push_back(std::move(path));
    }

    // If there are too many matches, those directories go in their place that have the most of
    // them.
    void gather_crowded() {
        std::vector<std::string>& paths = expansion_.paths;
        if (paths.size() > bounds_.matches) {
            std::map<std::string, std::size_t> counts;
            for (const std::string& path : paths)
                ++counts[core::parent_of(path)];
            std::erase_if(paths, [&](const std::string& path) {
                const std::string above = core::parent_of(path);
                return above != base_ && counts[above] > most_in_one;
            });
            for (const auto& [directory, count] : counts)
                if (directory != base_ && count > most_in_one)
                    expansion_.unclear.push_back(directory);
        }
        if (paths.size() + expansion_.unclear.size() > bounds_.matches)
            expansion_.is_complete = false;
    }

    static constexpr std::size_t most_in_one = 64;

    const std::string& base_;
    const std::vector<std::string>& parts_;
    const GlobBounds& bounds_;
    std::deque<Visit> queue_;
    Expansion expansion_;
    std::size_t found_here_ = 0; // in the directory that is being searched
    alignas(dirent64) std::array<char, 32768> buffer_;
};

} // namespace

Expansion expand(const std::string& base, const std::vector<std::string>& parts,
                 const GlobBounds& bounds) {
    return Search(base, parts, bounds).run();
}

} // namespace ew::sandbox
