#include "sandbox/places.h"

#include "os/io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <optional>

namespace ew::sandbox {

namespace {

constexpr int most_links = 40; // as many as the kernel follows (path_resolution(7))

std::optional<std::string> link_at(const std::string& path) {
    char target[PATH_MAX];
    const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
    if (size < 0) return std::nullopt;
    return std::string(target, static_cast<std::size_t>(size));
}

Place::Kind kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return Place::Kind::directory;
    return S_ISCHR(mode) ? Place::Kind::device : Place::Kind::file;
}

Place::Kind kind_of(const std::string& path) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) == 0) return kind_of(status.st_mode);
    return errno == ENOENT ? Place::Kind::missing : Place::Kind::unreachable;
}

std::string without_dots(std::string_view path) {
    std::string result = "/";
    for (std::size_t from = 0; from < path.size();) {
        const std::size_t to = std::min(path.find('/', from), path.size());
        const std::string_view part = path.substr(from, to - from);
        if (!part.empty() && part != ".") result = joined(result, part);
        from = to + 1;
    }
    return result;
}

std::string_view last_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

Place locate_within(const std::string& path, int links) {
    errno = 0;
    if (std::optional<std::string> real = os::real_path(path)) {
        const Place::Kind kind = kind_of(*real);
        return {std::move(*real), kind};
    }
    if (errno != ENOENT || links == 0 || path == "/") return {path, Place::Kind::unreachable};

    const Place parent = locate_within(parent_of(path), links - 1);
    if (parent.kind == Place::Kind::unreachable || last_of(path) == "..")
        return {path, Place::Kind::unreachable};
    if (parent.exists() && parent.kind != Place::Kind::directory)
        return {path, Place::Kind::unreachable};
    std::string here = joined(parent.path, last_of(path));
    if (parent.kind == Place::Kind::missing) return {std::move(here), Place::Kind::missing};
    const std::optional<std::string> target = link_at(here);
    if (!target) return {std::move(here), Place::Kind::missing};
    const bool is_absolute = target->starts_with('/');
    return locate_within(is_absolute ? *target : joined(parent.path, *target), links - 1);
}

} // namespace

Place locate(const std::string& path) {
    // "..", which only the target of a link may hold, is left to realpath(3).
    const std::string plain = without_dots(path);
    // Each missing component takes one step too.
    return locate_within(plain, most_links + static_cast<int>(std::ranges::count(plain, '/')));
}

Place locate_last(const std::string& path) {
    struct stat status = {};
    if (::lstat(path.c_str(), &status) == 0)
        return S_ISLNK(status.st_mode) ? locate(path) : Place{path, kind_of(status.st_mode)};
    return {path, errno == ENOENT ? Place::Kind::missing : Place::Kind::unreachable};
}

std::vector<Link> links_on(const std::string& path) {
    std::vector<Link> result;
    std::string rest = without_dots(path);
    std::string here = "/";
    while (!rest.empty() && rest != "/" && result.size() < most_links) {
        const std::size_t end = std::min(rest.find('/', 1), rest.size());
        const std::string next = joined(here, std::string_view(rest).substr(1, end - 1));
        rest.erase(0, end);
        const std::optional<std::string> target = link_at(next);
        if (!target) {
            here = next;
            continue;
        }
        result.push_back({next, *target});
        const std::string full = target->starts_with('/') ? *target : joined(here, *target);
        // Steps up in the target are resolved by the disk; what is left of the links inside it is
        // lost then, and only a name that somebody may have used.
        const bool has_steps = full.find("/..") != std::string::npos;
        rest.insert(0, without_dots(has_steps ? os::real_path(full).value_or("/") : full));
        here = "/";
    }
    return result;
}

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
    if (directory == "/") return path.size() > 1;
    return path.size() > directory.size() && path.starts_with(directory) &&
           path[directory.size()] == '/';
}

bool is_at_or_below(std::string_view path, std::string_view directory) {
    return path == directory || is_below(path, directory);
}

bool DepthFirst::operator()(std::string_view left, std::string_view right) const {
    const auto rank = [](char c) { return c == '/' ? 0 : static_cast<unsigned char>(c) + 1; };
    return std::ranges::lexicographical_compare(
        left, right, [rank](char a, char b) { return rank(a) < rank(b); });
}

Making making_of(const std::string& path) {
    std::string directory = parent_of(path);
    struct stat status = {};
    while (::stat(directory.c_str(), &status) != 0) {
        if (errno != ENOENT || directory == "/") return Making::impossible;
        directory = parent_of(directory);
    }
    if (!S_ISDIR(status.st_mode)) return Making::impossible;
    if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0)
        return Making::possible;
    return errno == EACCES && status.st_uid == ::geteuid() ? Making::after_chmod
                                                           : Making::impossible;
}

} // namespace ew::sandbox
