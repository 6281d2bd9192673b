#include "files/places.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

namespace ew::files {

namespace {

constexpr int most_links = 40; // as the kernel has it (path_resolution(7))

std::string target_of(int directory, const std::string& name) {
    std::array<char, PATH_MAX> text;
    const ssize_t size = ::readlinkat(directory, name.c_str(), text.data(), text.size());
    if (size <= 0 || static_cast<std::size_t>(size) == text.size()) return {};
    return {text.data(), static_cast<std::size_t>(size)};
}

bool is_link(int directory, const std::string& name) {
    struct stat status = {};
    return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISLNK(status.st_mode);
}

// From `base`, to where `path` is.
bool enter(int base, const std::string& path, bool follows_links, Place& place) {
    const std::size_t slash = path.find_last_of('/');
    std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
    if (parent.empty()) parent = "/";
    place.name = path.substr(slash == std::string::npos ? 0 : slash + 1);
    if (place.name.empty()) place.name = ".";
    UniqueFd directory = open_at(base, parent, O_PATH | O_DIRECTORY, follows_links);
    if (!directory) return false;
    place.directory = std::move(directory);
    return true;
}

} // namespace

UniqueFd open_at(int directory, const std::string& path, int flags, bool follows_links) {
    open_how how = {};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOCTTY);
    if ((flags & O_PATH) != 0) how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) how.mode = 0666;
    if (!follows_links) how.resolve = RESOLVE_NO_SYMLINKS;
    return UniqueFd(
        static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
}

std::string_view last_of(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);
}

Failure find_place(const std::string& path, bool follows_links, Place& place) {
    if (enter(AT_FDCWD, path, follows_links, place)) return {};
    if (errno == ELOOP && !follows_links)
        return failed(Trouble::wrong_kind, path,
                      "leads through a symbolic link, and followSymlinks is false");
    return failed(path, errno);
}

Failure find_end(const std::string& path, bool follows_links, Place& place) {
    if (Failure failure = find_place(path, follows_links, place)) return failure;
    for (int i = 0; is_link(place.directory.get(), place.name); ++i) {
        if (!follows_links)
            return failed(Trouble::wrong_kind, path,
                          "is a symbolic link, and followSymlinks is false");
        const std::string target = target_of(place.directory.get(), place.name);
        if (target.empty() || i == most_links) return failed(path, ELOOP);
        const UniqueFd base = std::move(place.directory);
        if (!enter(base.get(), target, true, place)) return failed(path, errno);
    }
    return {};
}

} // namespace ew::files
