#include "os/programs.h"

#include "os/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>

namespace ew::os {

namespace {

constexpr std::array<std::string_view, 6> system_directories = {
    "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"};

std::vector<std::string> elements_of(std::string_view path_variable) {
    std::vector<std::string> elements;
    for (;;) {
        const std::size_t colon = path_variable.find(':');
        elements.emplace_back(path_variable.substr(0, colon));
        if (colon == std::string_view::npos) return elements;
        path_variable.remove_prefix(colon + 1);
    }
}

std::string joined(const std::string& directory, const std::string& name) {
    return directory + (directory.ends_with('/') ? "" : "/") + name;
}

std::string parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

// Returns 0, or the errno that says why the file cannot be executed.
int obstacle_to_run(const std::string& path) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) return errno;
    if (S_ISDIR(info.st_mode)) return EISDIR;
    if (!S_ISREG(info.st_mode)) return EACCES;
    return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

bool is_missing(int obstacle) {
    return obstacle == ENOENT || obstacle == ENOTDIR;
}

Error not_found(const std::string& word, const std::string& where) {
    return {ErrorKind::spawn_not_found, fmt::format("there is no program '{}' {}", word, where)};
}

Result<std::string> resolved_file(const std::string& path) {
    std::optional<std::string> real = real_path(path);
    if (!real) return Error{ErrorKind::spawn_failed, fmt::format("{}: {}", path, strerror(errno))};
    return std::move(*real);
}

bool is_ours(uid_t owner) {
    return owner == 0 || owner == ::geteuid();
}

bool others_may_write(const struct stat& info) {
    return (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

// Returns true if root or we own the directory and others cannot write to it. A directory above
// (`is_above`) may be writable for others if it is sticky: then nobody can rename entries of
// another user (inode(7)).
bool is_guarded(const struct stat& info, bool is_above) {
    if (!is_ours(info.st_uid)) return false;
    return !others_may_write(info) || (is_above && (info.st_mode & S_ISVTX) != 0);
}

// In procfs a name such as self, or a link such as cwd, leads elsewhere in each process, and at
// each time (proc(5)).
bool is_about_processes(const std::string& directory) {
    struct statfs info = {};
    return ::statfs(directory.c_str(), &info) != 0 || info.f_type == PROC_SUPER_MAGIC;
}

bool has_dot_dot(const std::string& path) {
    return path.find("/../") != std::string::npos || path.ends_with("/..");
}

bool is_absolute(std::string_view path) {
    return path.substr(0, 1) == "/";
}

struct Passage {
    std::function<bool(const std::string& directory, const struct stat& info)> takes_directory;
    std::function<bool(const struct stat& info)> takes_link;
};

// Resolves the absolute path as described in path_resolution(7). Returns nullopt if a directory on
// the way (including the directories of symlinks) is in procfs, or if the passage does not take it,
// or a link.
std::optional<std::string> resolve(const std::string& path, const Passage& passage) {
    constexpr int max_links = 40; // the limit of the kernel
    std::string reached = "/";    // contains no symlinks
    std::string left = path;
    for (int links = 0; !left.empty();) {
        const std::size_t end = std::min(left.find('/'), left.size());
        const std::string name = left.substr(0, end);
        left.erase(0, end + 1);
        if (name == "..") reached = parent_of(reached);
        if (name.empty() || name == "." || name == "..") continue;

        struct stat info = {};
        if (is_about_processes(reached) || ::lstat(reached.c_str(), &info) != 0 ||
            !S_ISDIR(info.st_mode) || !passage.takes_directory(reached, info))
            return std::nullopt;
        const std::string entry = joined(reached, name);
        if (::lstat(entry.c_str(), &info) != 0) return std::nullopt;
        if (!S_ISLNK(info.st_mode)) {
            reached = entry;
            continue;
        }
        const std::optional<std::string> target = link_target(entry);
        if (!target || !passage.takes_link(info) || ++links > max_links) return std::nullopt;
        if (is_absolute(*target)) reached = "/";
        left = joined(*target, left);
    }
    return reached;
}

} // namespace

Result<std::string> resolve_program(const std::string& word, std::string_view path_variable,
                                    const std::string& directory) {
    if (word.empty()) return not_found(word, "because it has no name");
    if (word.find('\0') != std::string::npos)
        return not_found(word.substr(0, word.find('\0')), "with a NUL in its name");
    if (word.find('/') != std::string::npos) {
        const std::string path = is_absolute(word) ? word : joined(directory, word);
        const int obstacle = obstacle_to_run(path);
        if (obstacle == 0) return resolved_file(path);
        if (is_missing(obstacle)) return not_found(word, fmt::format("(looked for {})", path));
        return Error{ErrorKind::spawn_failed, fmt::format("{}: {}", path, strerror(obstacle))};
    }
    std::optional<Error> refusal;
    for (const std::string& element : elements_of(path_variable)) {
        const std::string place = is_absolute(element) ? element : joined(directory, element);
        const std::string path = joined(place, word);
        const int obstacle = obstacle_to_run(path);
        if (obstacle == 0) return resolved_file(path);
        if (!is_missing(obstacle) && !refusal)
            refusal =
                Error{ErrorKind::spawn_failed, fmt::format("{}: {}", path, strerror(obstacle))};
    }
    if (refusal) return *refusal;
    return not_found(word, fmt::format("in PATH ({})", path_variable));
}

std::optional<std::string> shared_real_path(const std::string& path) {
    if (!is_absolute(path)) return std::nullopt;
    std::optional<std::string> real =
        resolve(path, {[](const std::string&, const struct stat&) { return true; },
                       [](const struct stat&) { return true; }});
    if (real && is_about_processes(*real)) return std::nullopt;
    return real;
}

TrustedPrograms::TrustedPrograms(TrustPlaces places) : path_(elements_of(places.path)) {
    for (std::vector<std::string>* list : {&places.writable, &places.temporary_directories})
        for (std::string& directory : *list) {
            if (!is_absolute(directory)) continue;
            if (std::optional<std::string> real = real_path(directory))
                unsafe_.push_back(std::move(*real));
            unsafe_.push_back(std::move(directory));
        }
}

bool TrustedPrograms::is_trusted(std::string_view word) const {
    const std::string text(word);
    if (text.empty() || text.find('\0') != std::string::npos) return false;
    if (is_absolute(text)) return is_trusted_path(text);
    return text.find('/') == std::string::npos && is_trusted_name(text);
}

bool TrustedPrograms::is_trusted_file(const std::string& path) const {
    if (!is_absolute(path)) return false;
    const std::optional<std::string> real = guarded_target(path);
    struct stat info = {};
    if (!real || ::lstat(real->c_str(), &info) != 0) return false;
    return S_ISREG(info.st_mode) && is_guarded(info, false) && !is_in_unsafe_place(path) &&
           !is_in_unsafe_place(*real) && is_trusted_directory(parent_of(path)) &&
           is_trusted_directory(parent_of(*real));
}

bool TrustedPrograms::is_trusted_name(const std::string& name) const {
    for (const std::string& directory : path_) {
        if (!is_absolute(directory) || !is_trusted_directory(directory)) return false;
        const std::string path = joined(directory, name);
        if (obstacle_to_run(path) == 0) return is_trusted_file(path);
    }
    return true;
}

bool TrustedPrograms::is_trusted_path(const std::string& path) const {
    if (obstacle_to_run(path) != 0 || !is_trusted_file(path)) return false;
    const std::optional<std::string> directory = real_path(parent_of(path));
    const auto is_here = [&](std::string_view known) {
        return is_absolute(known) && directory && real_path(std::string(known)) == directory;
    };
    return std::any_of(system_directories.begin(), system_directories.end(), is_here) ||
           std::any_of(path_.begin(), path_.end(), is_here);
}

// A missing directory is trusted if the directory where it could be created is trusted.
bool TrustedPrograms::is_trusted_directory(const std::string& directory) const {
    if (is_in_unsafe_place(directory)) return false;
    struct stat info = {};
    if (::lstat(directory.c_str(), &info) != 0)
        return errno == ENOENT && !has_dot_dot(directory) &&
               is_trusted_directory(parent_of(directory));
    const std::optional<std::string> real = guarded_target(directory);
    return real && !is_in_unsafe_place(*real) && ::lstat(real->c_str(), &info) == 0 &&
           S_ISDIR(info.st_mode) && is_guarded(info, false);
}

// Others must be unable to write to a directory on the way (including the directories of symlinks),
// and none may be in an unsafe place. The caller must check the last component and its target.
std::optional<std::string> TrustedPrograms::guarded_target(const std::string& path) const {
    return resolve(path, {[&](const std::string& directory, const struct stat& info) {
                              return !is_in_unsafe_place(directory) && is_guarded(info, true);
                          },
                          [](const struct stat& info) { return is_ours(info.st_uid); }});
}

bool TrustedPrograms::is_in_unsafe_place(const std::string& path) const {
    return std::any_of(unsafe_.begin(), unsafe_.end(), [&](const std::string& place) {
        return path.starts_with(place) &&
               (path.size() == place.size() || place.ends_with('/') || path[place.size()] == '/');
    });
}

} // namespace ew::os
