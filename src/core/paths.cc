#include "core/paths.h"

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

} // namespace ew::core
