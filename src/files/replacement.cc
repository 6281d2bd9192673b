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
    (void)!::getrandom(bytes.data(), bytes.size(), 0); // a name in use is tried again
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

// Such a file can only be given a name through /proc (open(2), O_TMPFILE).
bool make_nameless(Replacement& replacement, int directory) {
    replacement.content = open_at(directory, ".", O_TMPFILE | O_RDWR, true);
    if (!replacement.content) return false;
    if (::access(path_of(replacement.content.get()).c_str(), F_OK) == 0) return true;
    replacement.content.reset();
    errno = EOPNOTSUPP;
    return false;
}

// Makes a file without a name, or with a temporary name if unnamed files are not supported.
bool make_content(Replacement& replacement, int directory) {
    if (make_nameless(replacement, directory)) return true;
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

// Returns true for attributes that a write to the old file would have kept. The policy sets the
// labels of a new file (selinux(8)). Capabilities are not copied, because others may have written
// the content.
bool is_kept(const std::string& name) {
    return name.starts_with("user.") || name.starts_with("system.");
}

bool copy_attributes(int from, int to) {
    // A new file gets the default ACL of its directory (acl(5)), which may allow more. If the old
    // file has an ACL, it is copied below.
    if (::fremovexattr(to, "system.posix_acl_access") != 0 && errno != ENODATA &&
        errno != EOPNOTSUPP)
        return false;
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

// A file that is being executed cannot be opened for writing, so it cannot be overwritten.
bool can_be_written_over(int old) {
    const int flags = ::fcntl(old, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

Failure begin_in_place(const std::string& path, UniqueFd old, const EntryRef& place,
                       Replacement& replacement) {
    give_up(replacement);
    replacement = {};
    if (!can_be_written_over(old.get())) return failed(path, ETXTBSY);
    // On disk, where there is room for large content; else in memory.
    if (!make_nameless(replacement, place.directory.get()))
        replacement.content = UniqueFd(::memfd_create("execward", MFD_CLOEXEC));
    if (!replacement.content) return failed(path, errno);
    replacement.beside = std::move(old);
    return {};
}

// Returns true if the file should be overwritten, because none can be created in this directory.
// Returns false for errors that mean a lack of space or resources.
bool means_in_place(int error_number) {
    switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return false;
    default: return true;
    }
}

Failure begin_over(const std::string& path, UniqueFd old, EntryRef place,
                   Replacement& replacement) {
    struct stat was = {};
    if (::fstat(old.get(), &was) != 0) return failed(path, errno);
    if (!S_ISREG(was.st_mode)) return failed(Trouble::wrong_kind, path, "is not a regular file");
    const bool is_single = was.st_nlink <= 1;
    const bool is_made = is_single && make_content(replacement, place.directory.get());
    if (is_single && !is_made && !means_in_place(errno)) return failed(path, errno);
    if (!is_made || !take_over(old.get(), was, replacement.content.get()))
        return begin_in_place(path, std::move(old), place, replacement);
    replacement.beside = std::move(place.directory);
    replacement.name = std::move(place.name);
    return {};
}

// An unnamed file can directly take the name if no file has it.
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

// Returns 0 or an errno.
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

// Some file systems report a failed write only at close(2).
Failure flush(int file, const std::string& path) {
    const int copy = ::fcntl(file, F_DUPFD_CLOEXEC, 3);
    if (copy < 0) return failed(path, errno);
    if (::close(copy) != 0 && errno != EINTR) return failed(path, errno);
    return {};
}

// Returns true if the file can hold `size` bytes, or if that cannot be determined. Otherwise
// returns false and sets errno.
bool has_room(int file, off_t size) {
    struct stat was = {};
    if (size == 0 || ::fstat(file, &was) != 0) return true;
    int result = 0;
    do {
        result = ::fallocate(file, FALLOC_FL_KEEP_SIZE, 0, size);
    } while (result != 0 && errno == EINTR);
    const int why = errno;
    if (result == 0 || (why != ENOSPC && why != EDQUOT && why != EFBIG)) return true;
    (void)!::ftruncate(file, was.st_size); // frees the allocated space, if it can
    errno = why;
    return false;
}

Failure write_over(const std::string& path, int content, int old) {
    const Untorn untorn;
    struct stat status = {};
    if (::fstat(content, &status) != 0) return failed(path, errno);
    // Checks the space before any content is lost.
    if (!has_room(old, status.st_size)) return failed(path, errno);
    // Kernel files are written piece by piece without offsets (seq_open).
    (void)::lseek(old, 0, SEEK_SET); // stays at 0 if it cannot seek
    off_t offset = 0;
    std::array<char, 64 << 10> block;
    while (offset < status.st_size) {
        const ssize_t count = ::pread(content, block.data(), block.size(), offset);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return failed(path, count < 0 ? errno : EIO);
        const std::string_view bytes(block.data(), static_cast<std::size_t>(count));
        if (Failure failure = write_all(old, bytes, path)) return failure;
        offset += count;
    }
    if (::ftruncate(old, status.st_size) != 0) return failed(path, errno);
    return flush(old, path);
}

} // namespace

UniqueFd open_old(const EntryRef& place) {
    constexpr int flags = O_NONBLOCK | O_NOFOLLOW;
    UniqueFd old = open_at(place.directory.get(), place.name, O_WRONLY | flags, true);
    if (old || errno != ETXTBSY) return old;
    old = open_at(place.directory.get(), place.name, O_RDONLY | flags, true);
    if (!old) errno = ETXTBSY;
    return old;
}

bool take_over(int old, const struct stat& was, int content) {
    struct stat is = {};
    if (::fstat(content, &is) != 0) return false;
    if ((is.st_uid != was.st_uid || is.st_gid != was.st_gid) &&
        ::fchown(content, was.st_uid, was.st_gid) != 0)
        return false;
    return copy_attributes(old, content) && ::fchmod(content, was.st_mode & kept_bits) == 0;
}

Failure begin_replacement(const std::string& path, EntryRef place, Replacement& replacement) {
    struct stat was = {};
    const bool is_there =
        ::fstatat(place.directory.get(), place.name.c_str(), &was, AT_SYMLINK_NOFOLLOW) == 0;
    if (!is_there && errno != ENOENT) return failed(path, errno);
    if (is_there && !S_ISLNK(was.st_mode)) {
        if (S_ISDIR(was.st_mode)) return failed(path, EISDIR);
        if (!S_ISREG(was.st_mode)) {
            const UniqueFd other =
                open_at(place.directory.get(), place.name, O_PATH | O_NOFOLLOW, true);
            return not_regular(path, other.get());
        }
        UniqueFd old = open_old(place);
        if (!old) return failed(path, errno);
        return begin_over(path, std::move(old), std::move(place), replacement);
    }
    if (!make_content(replacement, place.directory.get())) return failed(path, errno);
    replacement.beside = std::move(place.directory);
    replacement.name = std::move(place.name);
    return {};
}

Failure commit(const std::string& path, Replacement& replacement) {
    if (replacement.name.empty())
        return write_over(path, replacement.content.get(), replacement.beside.get());
    if (Failure failure = flush(replacement.content.get(), path)) {
        give_up(replacement);
        return failure;
    }
    if (take_free_name(replacement)) return {};
    const int why = rename_over(replacement);
    if (why == 0) return {};
    Failure failure = failed(path, why);
    // A mount point, a directory with the sticky bit, or a file system that has become read-only.
    if (why != EBUSY && why != EXDEV && why != EACCES && why != EPERM && why != EROFS)
        return failure;
    const EntryRef place = {std::move(replacement.beside), replacement.name};
    UniqueFd old;
    if (open_regular(path, place, O_WRONLY | O_NOFOLLOW, old)) return failure;
    return write_over(path, replacement.content.get(), old.get());
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

Failure put_link(const std::string& path, const std::string& target, const EntryRef& place) {
    const int directory = place.directory.get();
    if (::symlinkat(target.c_str(), directory, place.name.c_str()) == 0) return {};
    if (errno != EEXIST) return failed(path, errno);
    const Untorn untorn;
    const std::string temporary = random_name();
    if (::symlinkat(target.c_str(), directory, temporary.c_str()) != 0) return failed(path, errno);
    if (::renameat(directory, temporary.c_str(), directory, place.name.c_str()) == 0) return {};
    const int why = errno;
    (void)::unlinkat(directory, temporary.c_str(), 0); // the caller already has a failure to report
    return failed(path, why);
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
        if (count <= 0) return failed(path, count < 0 ? errno : EIO);
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

} // namespace ew::files
