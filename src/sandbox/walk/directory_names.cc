#include "sandbox/walk/directory_names.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace ew::sandbox {

DirectoryNames::DirectoryNames(const std::string& directory)
    : fd_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {}

bool DirectoryNames::is_directory(std::string_view name, unsigned char type) const {
    if (type != DT_UNKNOWN) return type == DT_DIR;
    struct stat status = {};
    return ::fstatat(fd(), std::string(name).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(status.st_mode);
}

bool may_be_entered(const std::string& path, int error) {
    if (error == ENOENT || error == ENOTDIR || error == ELOOP) return false;
    struct stat status = {};
    if (::lstat(path.c_str(), &status) != 0 || status.st_uid == ::geteuid()) return true;
    return error != EACCES || ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
}

} // namespace ew::sandbox
