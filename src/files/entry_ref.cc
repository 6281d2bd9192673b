#include "files/entry_ref.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

namespace ew::files {

namespace {

constexpr int on_the_way = O_PATH | O_DIRECTORY;

// Applies the rule of fs.protected_symlinks (proc(5)), which the kernel applies to symlinks that it
// follows itself: in a directory such as /tmp, another user's symlink may be a trap.
bool may_be_followed(int directory, const struct stat& link) {
    constexpr mode_t shared = S_ISVTX | S_IWOTH;
    struct stat holder = {};
    if (link.st_uid == ::geteuid()) return true;
    if (::fstat(directory, &holder) != 0) return false;
    return (holder.st_mode & shared) != shared || holder.st_uid == link.st_uid;
}

// Reads the symlink at `place`. `target` is empty if it is not a symlink.
Failure read_link(const std::string& path, const EntryRef& place, std::string& target) {
    target.clear();
    const UniqueFd link = open_at(place.directory.get(), place.name, O_PATH | O_NOFOLLOW, true);
    struct stat status = {};
    if (!link || ::fstat(link.get(), &status) != 0 || !S_ISLNK(status.st_mode)) return {};
    if (!may_be_followed(place.directory.get(), status))
        return failed(
            Trouble::permission, path,
            "leads through a symbolic link of another user in a directory that all may write to");
    target = link_text(link.get(), "");
    if (target.empty()) return failed(path, errno);
    return {};
}

// Goes from `base` to the directory that contains `path`.
bool enter(int base, const std::string& path, bool follows_links, EntryRef& place) {
    const std::size_t slash = path.find_last_of('/');
    std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
    if (parent.empty()) parent = "/";
    place.name = path.substr(slash == std::string::npos ? 0 : slash + 1);
    if (place.name.empty()) place.name = ".";
    UniqueFd directory = open_at(base, parent, on_the_way, follows_links);
    if (!directory) return false;
    place.directory = std::move(directory);
    return true;
}

UniqueFd open_plainly(int directory, const std::string& path, int flags) {
    return UniqueFd(::openat(directory, path.c_str(), flags | O_CLOEXEC | O_NOCTTY, 0666));
}

// Reports a symlink as ELOOP. The kernel would report ENOTDIR with O_DIRECTORY, and open the
// symlink with O_PATH.
UniqueFd open_no_link(int directory, const std::string& name, int flags) {
    UniqueFd file = open_plainly(directory, name, flags | O_NOFOLLOW);
    const int why = errno;
    struct stat status = {};
    const bool is_found =
        file ? ::fstat(file.get(), &status) == 0
             : ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    const bool is_link = is_found && S_ISLNK(status.st_mode);
    if (is_link) file.reset();
    errno = is_link ? ELOOP : why;
    return file;
}

} // namespace

UniqueFd open_without_links(int directory, const std::string& path, int flags) {
    const bool is_absolute = path.starts_with('/');
    UniqueFd at = open_plainly(directory, is_absolute ? "/" : ".", on_the_way);
    std::string_view rest = path;
    while (at) {
        rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
        const std::string name(rest.substr(0, rest.find('/')));
        rest.remove_prefix(name.size());
        if (rest.empty()) return open_no_link(at.get(), name.empty() ? "." : name, flags);
        at = open_no_link(at.get(), name, on_the_way);
    }
    return at;
}

UniqueFd open_at(int directory, const std::string& path, int flags, bool follows_links) {
    if (follows_links) return open_plainly(directory, path, flags);
    open_how how = {};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_NO_SYMLINKS;
    UniqueFd file(
        static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
    // Linux before 5.6 has no openat2(2), and old container filters answer EPERM.
    if (!file && (errno == ENOSYS || errno == EPERM))
        return open_without_links(directory, path, flags);
    return file;
}

std::string link_text(int directory, const std::string& name) {
    std::array<char, PATH_MAX> text;
    const ssize_t size = ::readlinkat(directory, name.c_str(), text.data(), text.size());
    if (size < 0) return {};
    if (static_cast<std::size_t>(size) < text.size())
        return {text.data(), static_cast<std::size_t>(size)};
    errno = ENAMETOOLONG;
    return {};
}

Failed is_a_link(const std::string& path) {
    return failed(Trouble::wrong_kind, path, "is a symbolic link, and followSymlinks is false");
}

Failure find_entry(const std::string& path, bool follows_links, EntryRef& place) {
    if (enter(AT_FDCWD, path, follows_links, place)) return {};
    if (errno == ELOOP && !follows_links)
        return failed(Trouble::wrong_kind, path,
                      "leads through a symbolic link, and followSymlinks is false");
    return failed(path, errno);
}

Failure find_end(const std::string& path, bool follows_links, EntryRef& place) {
    if (Failure failure = find_entry(path, follows_links, place)) return failure;
    for (int i = 0;; ++i) {
        std::string target;
        Failure failure = read_link(path, place, target);
        if (!follows_links && (failure || !target.empty())) return is_a_link(path);
        if (failure || target.empty()) return failure;
        if (i == most_links) return failed(path, ELOOP);
        const UniqueFd base = std::move(place.directory);
        if (!enter(base.get(), target, true, place)) return failed(path, errno);
    }
}

Failed not_regular(const std::string& path, int file) {
    struct stat status = {};
    struct statvfs system = {};
    const bool is_device =
        ::fstat(file, &status) == 0 && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode));
    if (is_device && ::fstatvfs(file, &system) == 0 && (system.f_flag & ST_NODEV) != 0)
        return failed(path, EACCES);
    return failed(Trouble::wrong_kind, path, "is not a regular file");
}

Failure open_regular(const std::string& path, const EntryRef& place, int flags, UniqueFd& file) {
    const int directory = place.directory.get();
    struct stat status = {};
    // The file is opened with O_PATH and checked first: opening a device may have an effect, and
    // opening a pipe wakes the processes at its other end.
    file = open_at(directory, place.name, O_PATH | (flags & O_NOFOLLOW), true);
    for (const bool is_only_found : {true, false}) {
        if (!file || ::fstat(file.get(), &status) != 0) return failed(path, errno);
        if (S_ISDIR(status.st_mode)) return failed(path, EISDIR);
        if (S_ISLNK(status.st_mode)) return is_a_link(path);
        if (!S_ISREG(status.st_mode)) return not_regular(path, file.get());
        if (is_only_found) file = open_at(directory, place.name, flags | O_NONBLOCK, true);
    }
    return {};
}

} // namespace ew::files
