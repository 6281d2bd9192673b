#include "store/files.h"

#include "os/file_lock.h"
#include "store/database.h"
#include "store/unavailable.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

namespace ew::store {

Error unavailable(std::string_view path, std::string_view cause, std::string way_out) {
    return Error{ErrorKind::store_unavailable,
                 fmt::format("the database {} cannot be used: {}", path, cause),
                 std::move(way_out)};
}

std::string os_error_text(int error_number) {
    return std::generic_category().message(error_number);
}

namespace {

constexpr mode_t others_write = S_IWGRP | S_IWOTH;
constexpr mode_t others_anything = S_IRWXG | S_IRWXO;

// The files that SQLite creates next to a database (https://www.sqlite.org/tempfiles.html).
constexpr std::array<std::string_view, 3> companions = {"-wal", "-shm", "-journal"};

Error failed(const std::string& path, std::string_view step, int error_number) {
    return unavailable(path, fmt::format("{}: {}", step, os_error_text(error_number)),
                       "make the directory writable for you, or name another file with --database");
}

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

// Makes new directory entries survive a power failure.
void sync_directory(const std::string& directory) {
    const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd) (void)::fsync(fd.get()); // some file systems do not support this, and do not need it
}

Result<void> make_directories(const std::string& path, const std::string& directory) {
    for (std::size_t slash = 0; slash != std::string::npos;) {
        slash = directory.find('/', slash + 1);
        const std::string part = directory.substr(0, slash);
        if (::mkdir(part.c_str(), S_IRWXU) == 0)
            sync_directory(directory_of(part));
        else if (errno != EEXIST && ::access(part.c_str(), F_OK) != 0)
            return failed(path, "mkdir " + part, errno);
    }
    return {};
}

// Checks the owner and mode of `name`, which is the database, a companion or their directory.
Result<void> check_owner(const std::string& path, const std::string& name, const struct stat& is) {
    if (is.st_uid != ::geteuid())
        return unavailable(path,
                           fmt::format("{} belongs to user {}, not to you (user {})", name,
                                       is.st_uid, ::geteuid()),
                           "run this as its owner, or name another file with --database");
    if ((is.st_mode & others_write) == 0) return {};
    return unavailable(path, fmt::format("others can write to {}", name),
                       fmt::format("find out who changed it, then run: chmod go-w '{}'", name));
}

Result<void> check_directory(const std::string& path, const std::string& directory) {
    struct stat is = {};
    if (::stat(directory.c_str(), &is) != 0) return failed(path, "stat " + directory, errno);
    if (!S_ISDIR(is.st_mode)) return failed(path, directory, ENOTDIR);
    return check_owner(path, directory, is);
}

// Returns false if the file does not exist.
Result<bool> check_file(const std::string& path, const std::string& name) {
    struct stat is = {};
    if (::lstat(name.c_str(), &is) != 0) {
        if (errno == ENOENT) return false;
        return failed(path, "stat " + name, errno);
    }
    if (!S_ISREG(is.st_mode))
        return unavailable(path,
                           fmt::format("{} is {}", name,
                                       S_ISLNK(is.st_mode) ? "a symbolic link" : "no regular file"),
                           "name the file itself with --database");
    TRY(check_owner(path, name, is));
    if (is.st_nlink > 1) // a command that may write another name of it would write it
        return unavailable(
            path, fmt::format("{} has {} names (hard links)", name, is.st_nlink),
            fmt::format("find the others with: find / -xdev -samefile '{}', and remove them",
                        name));
    if ((is.st_mode & others_anything) != 0 && ::chmod(name.c_str(), S_IRUSR | S_IWUSR) != 0)
        return failed(path, "chmod " + name, errno);
    return true;
}

Result<UniqueFd> lock_directory(const std::string& path, const std::string& directory,
                                Millis patience) {
    UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return failed(path, "open " + directory, errno);
    // If the file system has no flock(2), SQLite's own locks must suffice.
    if (!os::lock_within(fd.get(), LOCK_EX, patience) && errno == EWOULDBLOCK)
        return unavailable(path, "another process has been opening it for too long",
                           "try again, or end that process");
    return fd;
}

// Call this only with the lock held. A companion without its database belongs to a deleted
// database, and must not become part of the new one. But without the lock, another process may be
// creating that database.
Result<void> make_file(const std::string& path) {
    for (const std::string_view ending : companions)
        (void)::unlink((path + std::string(ending)).c_str()); // usually there are none
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             S_IRUSR | S_IWUSR));
    if (!fd) return failed(path, "create", errno);
    if (::fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0) return failed(path, "chmod", errno);
    sync_directory(directory_of(path));
    return {};
}

} // namespace

Result<UniqueFd> prepare_file(const std::string& path, Millis patience) {
    const std::string directory = directory_of(path);
    TRY(make_directories(path, directory));
    TRY(check_directory(path, directory));
    UniqueFd lock = TRY(lock_directory(path, directory, patience));
    // An existing file is not opened here, because closing it would drop the locks of other
    // connections of this process (https://www.sqlite.org/howtocorrupt.html, 2.2).
    const bool exists = TRY(check_file(path, path));
    if (!exists) {
        TRY(make_file(path));
        return lock;
    }
    for (const std::string_view ending : companions)
        (void)TRY(check_file(path, path + std::string(ending)));
    return lock;
}

} // namespace ew::store
