#include "files/replacement.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

namespace ew::files {

namespace {

constexpr mode_t kept_bits = 01777;
constexpr int most_tries = 100;

std::string random_name() {
    std::array<unsigned char, 8> bytes = {};
    (void)::getrandom(bytes.data(), bytes.size(), 0); // a name that is taken is tried again
    std::string name = ".execward-";
    for (const unsigned char byte : bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        name += digits[byte >> 4];
        name += digits[byte & 15];
    }
    return name;
}

std::string path_of(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

// A file without a name, or with a temporary one where the file system has no other.
bool make_content(Replacement& replacement, int directory, const std::string& in) {
    replacement.content = open_at(directory, in, O_TMPFILE | O_RDWR, true);
    if (replacement.content) return true;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT) return false;
    for (int i = 0; i < most_tries; ++i) {
        const std::string name = random_name();
        replacement.content =
            open_at(directory, name, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, true);
        if (replacement.content) {
            replacement.temporary = name;
            return true;
        }
        if (errno != EEXIST) return false;
    }
    return false;
}

bool copy_attribute(int from, int to, const char* name) {
    std::array<char, 64 << 10> value; // XATTR_SIZE_MAX (xattr(7))
    const ssize_t size = ::fgetxattr(from, name, value.data(), value.size());
    if (size < 0) return errno == ENODATA;
    return ::fsetxattr(to, name, value.data(), static_cast<std::size_t>(size), 0) == 0;
}

// What a write to the old file would have kept. Labels of a new file are the policy's affair
// (selinux(8)), and capabilities are not passed on to content that somebody else may have written.
bool is_kept(const std::string& name) {
    return name.starts_with("user.") || name.starts_with("system.posix_acl_");
}

bool copy_attributes(int from, int to) {
    std::array<char, 64 << 10> names; // XATTR_LIST_MAX
    const ssize_t size = ::flistxattr(from, names.data(), names.size());
    if (size < 0) return errno == EOPNOTSUPP;
    std::string_view rest(names.data(), static_cast<std::size_t>(size));
    while (!rest.empty()) {
        const std::string name(rest.substr(0, rest.find('\0')));
        if (is_kept(name) && !copy_attribute(from, to, name.c_str())) return false;
        rest.remove_prefix(name.size() + 1);
    }
    return true;
}

// Can the new file be all that the old one was?
bool take_over(int old, const struct stat& was, int content) {
    struct stat is = {};
    if (::fstat(content, &is) != 0) return false;
    if ((is.st_uid != was.st_uid || is.st_gid != was.st_gid) &&
        ::fchown(content, was.st_uid, was.st_gid) != 0)
        return false;
    // Of the directory, by its default (acl(5)).
    if (::fremovexattr(content, "system.posix_acl_access") != 0 && errno != ENODATA &&
        errno != EOPNOTSUPP)
        return false;
    return copy_attributes(old, content) && ::fchmod(content, was.st_mode & kept_bits) == 0;
}

// An old file that is being executed cannot be opened for writing, so not be written over.
bool can_be_written_over(int old) {
    const int flags = ::fcntl(old, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

Failure begin_in_place(const std::string& path, UniqueFd old, Replacement& replacement) {
    give_up(replacement);
    replacement = {};
    if (!can_be_written_over(old.get())) return failed(path, ETXTBSY);
    UniqueFd content(::memfd_create("execward", MFD_CLOEXEC));
    if (!content) return failed(path, errno);
    replacement.content = std::move(content);
    replacement.beside = std::move(old);
    return {};
}

bool means_in_place(int error_number) {
    return error_number == EACCES || error_number == EPERM || error_number == EROFS;
}

Failure begin_over(const std::string& path, UniqueFd old, Place place, Replacement& replacement) {
    struct stat was = {};
    if (::fstat(old.get(), &was) != 0) return failed(path, errno);
    if (S_ISDIR(was.st_mode)) return failed(path, EISDIR);
    if (!S_ISREG(was.st_mode)) return failed(Trouble::wrong_kind, path, "is not a regular file");
    if (was.st_nlink > 1) return begin_in_place(path, std::move(old), replacement);
    if (!make_content(replacement, place.directory.get(), "."))
        return means_in_place(errno) ? begin_in_place(path, std::move(old), replacement)
                                     : failed(path, errno);
    if (!take_over(old.get(), was, replacement.content.get()))
        return begin_in_place(path, std::move(old), replacement);
    replacement.beside = std::move(place.directory);
    replacement.name = std::move(place.name);
    return {};
}

// What has no name yet takes that of a file that is not there without a detour.
bool take_free_name(const Replacement& replacement) {
    return replacement.temporary.empty() &&
           ::linkat(AT_FDCWD, path_of(replacement.content.get()).c_str(), replacement.beside.get(),
                    replacement.name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

bool give_name(Replacement& replacement) {
    if (!replacement.temporary.empty()) return true;
    for (int i = 0; i < most_tries; ++i) {
        const std::string name = random_name();
        if (::linkat(AT_FDCWD, path_of(replacement.content.get()).c_str(), replacement.beside.get(),
                     name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
            replacement.temporary = name;
            return true;
        }
        if (errno != EEXIST) return false;
    }
    return false;
}

// 0, or an errno.
int rename_over(Replacement& replacement) {
    const Untorn untorn;
    if (!give_name(replacement)) return errno;
    if (::renameat(replacement.beside.get(), replacement.temporary.c_str(),
                   replacement.beside.get(), replacement.name.c_str()) == 0)
        return 0;
    const int why = errno;
    give_up(replacement);
    return why;
}

// The old file, opened for writing as it could not be replaced.
UniqueFd old_file(const Replacement& replacement) {
    return open_at(replacement.beside.get(), replacement.name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW,
                   true);
}

Failure write_over(const std::string& path, int content, int old) {
    const Untorn untorn;
    struct stat status = {};
    if (::fstat(content, &status) != 0) return failed(path, errno);
    // What has no room is known before anything is lost.
    if (status.st_size > 0 && ::fallocate(old, FALLOC_FL_KEEP_SIZE, 0, status.st_size) != 0 &&
        errno != EOPNOTSUPP && errno != EINVAL)
        return failed(path, errno);
    off_t offset = 0;
    std::array<char, 64 << 10> block;
    while (offset < status.st_size) {
        const ssize_t count = ::pread(content, block.data(), block.size(), offset);
        if (count <= 0) return failed(path, count < 0 ? errno : EIO);
        for (ssize_t done = 0; done < count;) {
            const ssize_t written = ::pwrite(old, block.data() + done,
                                             static_cast<std::size_t>(count - done), offset + done);
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) return failed(path, errno);
            done += written;
        }
        offset += count;
    }
    if (::ftruncate(old, status.st_size) != 0) return failed(path, errno);
    return {};
}

} // namespace

Failure begin_replacement(const std::string& path, bool follows_links, Replacement& replacement) {
    Place place;
    if (Failure failure = find_end(path, follows_links, place)) return failure;
    return begin_replacement_at(path, std::move(place), replacement);
}

Failure begin_replacement_at(const std::string& path, Place place, Replacement& replacement) {
    UniqueFd old =
        open_at(place.directory.get(), place.name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW, true);
    if (!old && errno == ETXTBSY &&
        ::faccessat(place.directory.get(), place.name.c_str(), W_OK,
                    AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0)
        old = open_at(place.directory.get(), place.name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, true);
    if (old) return begin_over(path, std::move(old), std::move(place), replacement);
    // A pipe that nobody reads is ENXIO (fifo(7)), and so is a socket.
    if (errno == ENXIO) return failed(Trouble::wrong_kind, path, "is not a regular file");
    if (errno != ENOENT && errno != ELOOP) return failed(path, errno);
    if (!make_content(replacement, place.directory.get(), ".")) return failed(path, errno);
    replacement.beside = std::move(place.directory);
    replacement.name = std::move(place.name);
    return {};
}

Failure commit(const std::string& path, Replacement& replacement) {
    if (replacement.name.empty())
        return write_over(path, replacement.content.get(), replacement.beside.get());
    if (take_free_name(replacement)) return {};
    const int why = rename_over(replacement);
    if (why == 0) return {};
    Failure failure = failed(path, why);
    // A mount point of its own, a directory with the sticky bit, or one that has become read-only.
    if (why == EBUSY || means_in_place(why))
        if (const UniqueFd old = old_file(replacement))
            failure = write_over(path, replacement.content.get(), old.get());
    return failure;
}

Untorn::Untorn() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    (void)::sigprocmask(SIG_BLOCK, &set, &before_); // cannot fail
}

Untorn::~Untorn() {
    (void)::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void give_up(Replacement& replacement) {
    if (replacement.temporary.empty()) return;
    (void)::unlinkat(replacement.beside.get(), replacement.temporary.c_str(), 0);
    replacement.temporary.clear();
}

Failure write_all(int file, std::string_view bytes, const std::string& path) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(file, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return failed(path, errno);
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

} // namespace ew::files
