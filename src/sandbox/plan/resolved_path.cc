#include "sandbox/plan/resolved_path.h"

#include "os/directory.h"
#include "os/file_capabilities.h"
#include "os/io.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

namespace ew::sandbox {

namespace {

ResolvedPath::Kind kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return ResolvedPath::Kind::directory;
    return S_ISCHR(mode) ? ResolvedPath::Kind::device : ResolvedPath::Kind::file;
}

ResolvedPath::Kind kind_of(const std::string& path) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) == 0) return kind_of(status.st_mode);
    return errno == ENOENT ? ResolvedPath::Kind::missing : ResolvedPath::Kind::unreachable;
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

// Before Linux 5.6, or where a filter does not know openat2(2).
UniqueFd walk_without_links(const std::string& path, int flags) {
    UniqueFd here(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (std::size_t from = 1; here && from < path.size();) {
        const std::size_t to = std::min(path.find('/', from), path.size());
        const std::string name = path.substr(from, to - from);
        const int how = to == path.size() ? flags : O_PATH | O_DIRECTORY;
        here = UniqueFd(::openat(here.get(), name.c_str(), how | O_NOFOLLOW | O_CLOEXEC));
        from = to + 1;
    }
    return here;
}

ResolvedPath locate_within(const std::string& path, int links) {
    errno = 0;
    if (std::optional<std::string> real = os::real_path(path)) {
        const ResolvedPath::Kind kind = kind_of(*real);
        return {std::move(*real), kind};
    }
    if (errno != ENOENT || links == 0 || path == "/")
        return {path, ResolvedPath::Kind::unreachable};

    const ResolvedPath parent = locate_within(parent_of(path), links - 1);
    if (parent.kind == ResolvedPath::Kind::unreachable || last_of(path) == "..")
        return {path, ResolvedPath::Kind::unreachable};
    if (parent.exists() && parent.kind != ResolvedPath::Kind::directory)
        return {path, ResolvedPath::Kind::unreachable};
    std::string here = joined(parent.path, last_of(path));
    if (parent.kind == ResolvedPath::Kind::missing)
        return {std::move(here), ResolvedPath::Kind::missing};
    const std::optional<std::string> target = os::link_target(here);
    if (!target) return {std::move(here), ResolvedPath::Kind::missing};
    const bool is_absolute = target->starts_with('/');
    return locate_within(is_absolute ? *target : joined(parent.path, *target), links - 1);
}

} // namespace

ResolvedPath locate(const std::string& path) {
    // Only the target of a link may contain ".."; realpath(3) resolves it.
    const std::string plain = without_dots(path);
    // Each missing component needs one step too.
    return locate_within(plain,
                         core::most_links + static_cast<int>(std::ranges::count(plain, '/')));
}

ResolvedPath locate_last(const std::string& path) {
    struct stat status = {};
    if (::lstat(path.c_str(), &status) == 0)
        return S_ISLNK(status.st_mode) ? locate(path) : ResolvedPath{path, kind_of(status.st_mode)};
    return {path, errno == ENOENT ? ResolvedPath::Kind::missing : ResolvedPath::Kind::unreachable};
}

Way way_to(const std::string& path) {
    return core::way_to(path, os::link_target);
}

bool is_of_the_machine(std::string_view path) {
    constexpr std::array<std::string_view, 17> trees = {
        "/bin", "/boot", "/dev", "/etc",  "/lib", "/lib32", "/lib64", "/libx32", "/nix",
        "/opt", "/proc", "/run", "/sbin", "/sys", "/usr",   "/snap",  "/var/lib"};
    constexpr std::array<std::string_view, 7> directories = {"/",    "/home", "/media",   "/mnt",
                                                             "/srv", "/var",  "/run/user"};
    // Files below the directory of one user belong to that user.
    constexpr std::string_view users = "/run/user/";
    if (path.starts_with(users))
        return path.substr(users.size()).find('/') == std::string_view::npos;
    if (is_at_or_below(path, "/dev/shm")) return false;
    return std::ranges::find(directories, path) != directories.end() ||
           std::ranges::any_of(
               trees, [path](std::string_view tree) { return is_at_or_below(path, tree); });
}

bool is_empty_directory(const std::string& path) {
    const os::Directory directory = os::open_directory(path);
    if (!directory) return false;
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") return false;
    }
    return true;
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
    if (errno != EACCES || status.st_uid != ::geteuid()) return Making::impossible;
    // A confined program can make it writable with chmod; root can make files in it as it is.
    return os::has_file_capabilities() ? Making::possible : Making::after_chmod;
}

bool exists(const std::string& path) {
    struct stat status = {};
    return ::lstat(path.c_str(), &status) == 0;
}

bool is_link(const std::string& path) {
    struct stat status = {};
    return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

UniqueFd open_without_links(const std::string& path, int flags) {
    open_how how = {};
    how.flags = static_cast<std::uint64_t>(flags | O_NOFOLLOW | O_CLOEXEC);
    how.resolve = RESOLVE_NO_SYMLINKS;
    UniqueFd place(
        static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
    if (!place && (errno == ENOSYS || errno == EPERM)) return walk_without_links(path, flags);
    return place;
}

bool exists_without_links(const std::string& path) {
    return static_cast<bool>(open_without_links(path, O_PATH));
}

} // namespace ew::sandbox
