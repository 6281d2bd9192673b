#include "core/text/paths.h"

#include <algorithm>
#include <filesystem>

namespace ew::core {

std::string joined(std::string_view directory, std::string_view rest) {
    std::string result(directory);
    if (rest.empty()) return result;
    if (!result.ends_with('/')) result += '/';
    return result.append(rest);
}

std::string parent_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == 0 || slash == std::string_view::npos ? "/" : std::string(path.substr(0, slash));
}

bool is_below(std::string_view path, std::string_view directory) {
    if (directory == "/") return path.size() > 1 && path.starts_with('/');
    return !directory.empty() && path.size() > directory.size() && path.starts_with(directory) &&
           path[directory.size()] == '/';
}

bool is_at_or_below(std::string_view path, std::string_view directory) {
    return (!directory.empty() && path == directory) || is_below(path, directory);
}

std::optional<std::string> path_as_written(const std::string& path) {
    const std::filesystem::path written = path;
    const bool has_parent_step = std::find(written.begin(), written.end(), "..") != written.end();
    if (has_parent_step || path.find('\0') != std::string::npos) return std::nullopt;
    std::string normal = written.lexically_normal().string();
    if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
    return normal;
}

std::string cut_below(const std::string& path, std::size_t above, std::size_t levels) {
    for (; levels > 0 && above < path.size(); --levels)
        above = std::min(path.find('/', above + 1), path.size());
    return path.substr(0, above);
}

std::string without_dots(std::string_view path) {
    std::string result;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        const std::string_view part = path.substr(0, end);
        path.remove_prefix(std::min(end + 1, path.size()));
        if (part.empty() || part == ".") continue;
        if (part == "..")
            result.resize(result.empty() ? 0 : result.rfind('/'));
        else
            result.append("/").append(part);
    }
    return result.empty() ? "/" : result;
}

Way way_to(const std::string& path,
           const std::function<std::optional<std::string>(const std::string&)>& link_target) {
    Way way;
    std::vector<Link>& result = way.links;
    std::string rest = path;
    std::string here = "/"; // canonical, so ".." is the directory above it
    while (!rest.empty() && result.size() < most_links) {
        const std::size_t end = std::min(rest.find('/'), rest.size());
        const std::string part = rest.substr(0, end);
        rest.erase(0, std::min(end + 1, rest.size()));
        if (part.empty() || part == ".") continue;
        if (part == "..") {
            here = parent_of(here);
            continue;
        }
        std::string next = joined(here, part);
        std::optional<std::string> target = link_target(next);
        if (!target) {
            here = std::move(next);
            continue;
        }
        if (target->starts_with('/')) here = "/";
        rest.insert(0, *target + '/');
        result.push_back({std::move(next), std::move(*target)});
    }
    way.end = std::move(here);
    return way;
}

} // namespace ew::core
