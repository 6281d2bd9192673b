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

std::string distrust_of_link(const std::string& path, const std::vector<std::string>& writable) {
    const std::optional<std::string> target = target_of_link(path);
    if (!target) return {};
    const auto holds_target = [&](const std::string& directory) {
        return core::is_at_or_below(*target, os::real_path(directory).value_or(directory));
    };
    if (std::ranges::any_of(writable, holds_target))
        return fmt::format("is a link to {}, where confined commands can write", *target);
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
