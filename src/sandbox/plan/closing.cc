#include "sandbox/plan/closing.h"

#include "core/text/paths.h"

#include <algorithm>
#include <utility>

namespace ew::sandbox {

namespace {

bool holds_one(const std::string& directory, const std::vector<std::string>& paths) {
    return std::ranges::any_of(paths, [&directory](const std::string& path) {
        return core::is_at_or_below(path, directory);
    });
}

std::set<std::string> ancestors(const std::string& root, const std::vector<std::string>& paths,
                                const std::vector<std::string>& kept_open, std::size_t levels) {
    std::set<std::string> result;
    const std::size_t above = root == "/" ? 0 : root.size();
    for (const std::string& path : paths) {
        std::size_t down = levels;
        std::string directory = core::cut_below(path, above, down);
        while (directory != path && holds_one(directory, kept_open))
            directory = core::cut_below(path, above, ++down);
        if (directory == root || holds_one(directory, kept_open)) return {};
        result.insert(std::move(directory));
        if (result.size() > most_closed) return {};
    }
    return result;
}

} // namespace

std::set<std::string> closing_for(const std::string& root, const std::vector<std::string>& paths,
                                  const std::vector<std::string>& kept_open) {
    std::set<std::string> closed = ancestors(root, paths, kept_open, 1);
    if (closed.empty()) return closed;
    for (std::size_t levels = 2; levels <= static_cast<std::size_t>(most_levels); ++levels) {
        std::set<std::string> further = ancestors(root, paths, kept_open, levels);
        if (further.empty()) break;
        closed = std::move(further);
    }
    return closed;
}

std::string near_enough(const std::string& root, std::string path) {
    while (path != root && (path.size() > longest_ruled ||
                            std::count(path.begin() + static_cast<std::ptrdiff_t>(root.size()),
                                       path.end(), '/') > most_levels))
        path = core::parent_of(path);
    return path;
}

} // namespace ew::sandbox
