#include "config/linked_file.h"

#include "config/owned_file.h"
#include "core/text/paths.h"
#include "os/io.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace ew::config {

std::optional<std::string> target_of_link(const std::string& path) {
    struct stat info = {};
    if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return std::nullopt;
    return os::real_path(path);
}

namespace {

// Returns the places of all symlinks on the way to the file, and that of the file, in order.
// Whoever can change one of them can exchange the file.
std::vector<std::string> places_on_way(const std::string& path) {
    core::Way way = core::way_to(path, os::link_target);
    std::vector<std::string> places;
    for (core::Link& link : way.links)
        places.push_back(std::move(link.path));
    places.push_back(os::real_path(path).value_or(std::move(way.end)));
    return places;
}

} // namespace

std::string distrust_of_link(const std::string& path, const std::vector<std::string>& writable) {
    struct stat file = {};
    if (::stat(path.c_str(), &file) == 0)
        if (std::string distrust = distrust_of_names(file); !distrust.empty()) return distrust;
    const std::vector<std::string> places = places_on_way(path);
    const std::optional<std::string> target = target_of_link(path);
    if (places.size() < 2 && !target) return {};
    for (const std::string& place : places) {
        const bool is_in_reach = std::ranges::any_of(writable, [&](const std::string& directory) {
            return core::is_at_or_below(place, os::real_path(directory).value_or(directory));
        });
        if (place == path || !is_in_reach) continue;
        if (place != places.back())
            return fmt::format("leads through {}, a link that confined commands can exchange",
                               place);
        return fmt::format("is a link to {}, where confined commands can write", place);
    }
    if (!target) return {};
    const std::string parent = target->substr(0, std::max<std::size_t>(target->rfind('/'), 1));
    struct stat info = {};
    const std::string distrust =
        ::stat(parent.c_str(), &info) == 0 ? distrust_of(info) : "cannot be examined";
    if (distrust.empty()) return {};
    return fmt::format("is a link to {}, and the directory of that {}", *target, distrust);
}

Result<void> check_link(const std::string& path, const std::vector<std::string>& writable) {
    const std::string distrust = distrust_of_link(path, writable);
    if (distrust.empty()) return {};
    return Error{ErrorKind::config_invalid, fmt::format("{}: {}", path, distrust),
                 "put a copy of the file there instead of the link, or work in another directory"};
}

std::vector<std::string> link_targets(const Paths& paths) {
    std::vector<std::string> names = {paths.config_file};
    std::error_code error;
    namespace fs = std::filesystem;
    for (fs::directory_iterator at(paths.rules_directory, error), end; !error && at != end;
         at.increment(error))
        names.push_back(at->path().string());
    std::vector<std::string> targets;
    for (const std::string& name : names)
        if (std::optional<std::string> target = target_of_link(name))
            targets.push_back(std::move(*target));
    return targets;
}

} // namespace ew::config
