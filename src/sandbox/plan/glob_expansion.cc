#include "sandbox/plan/glob_expansion.h"

#include "core/text/paths.h"
#include "os/directory.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>
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
    Search(const std::vector<std::string>& parts, const GlobBounds& bounds)
        : parts_(parts), bounds_(bounds) {}

    Expansion run(const std::string& base) {
        queue_.push_back({base, with_skipped({0}), 0});
        for (std::size_t visited = 0; !queue_.empty() && expansion_.is_complete; ++visited) {
            if (visited == bounds_.directories) {
                expansion_.is_complete = false;
                break;
            }
            const Visit visit = std::move(queue_.front());
            queue_.pop_front();
            look_into(visit);
        }
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
        const os::Directory directory = os::open_directory(visit.path);
        if (!directory) return;
        while (const dirent* entry = ::readdir(directory.get())) {
            const std::string_view name = entry->d_name;
            if (name == "." || name == "..") continue;
            if (!take(visit, name, entry->d_type)) return;
        }
    }

    // Returns false if a bound was reached.
    bool take(const Visit& visit, std::string_view name, unsigned char type) {
        std::set<std::size_t> next;
        for (const std::size_t place : visit.at) {
            if (place >= parts_.size()) continue;
            const bool is_any = parts_[place] == any_depth;
            if (!is_any && !matches(parts_[place], name)) continue;
            if (is_last(place)) return add(core::joined(visit.path, name));
            next.insert(is_any ? place : place + 1);
        }
        next = with_skipped(std::move(next));
        const bool is_deep = bounds_.depth && visit.depth + 1 > *bounds_.depth;
        if (next.empty() || is_deep) return true;
        std::string path = core::joined(visit.path, name);
        if (is_directory(path, type)) queue_.push_back({std::move(path), next, visit.depth + 1});
        return true;
    }

    bool add(std::string path) {
        if (expansion_.paths.size() == bounds_.matches) {
            expansion_.is_complete = false;
            return false;
        }
        expansion_.paths.push_back(std::move(path));
        return true;
    }

    static bool is_directory(const std::string& path, unsigned char type) {
        if (type != DT_UNKNOWN) return type == DT_DIR;
        struct stat status = {};
        return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    }

    const std::vector<std::string>& parts_;
    const GlobBounds& bounds_;
    std::deque<Visit> queue_;
    Expansion expansion_;
};

} // namespace

Expansion expand(const std::string& base, const std::vector<std::string>& parts,
                 const GlobBounds& bounds) {
    return Search(parts, bounds).run(base);
}

} // namespace ew::sandbox
