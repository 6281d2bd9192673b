#include "files/patch/patch_access.h"

#include "files/entry_ref.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace ew::files {

namespace {

// Creates an unnamed file as a test; it disappears when it is closed. If the file system does not
// support unnamed files (open(2)), the access mode decides.
bool takes_files(int directory) {
    const UniqueFd unnamed(::openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (unnamed) return true;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT) return false;
    return ::faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) == 0;
}

bool is_mount(int directory, const std::string& name) {
    struct statx status = {};
    return ::statx(directory, name.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &status) ==
               0 &&
           (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool may_be_changed(const std::string& path) {
    std::string name = path.substr(path.rfind('/') + 1);
    for (std::string directory = path; !directory.empty();) {
        directory.resize(directory.rfind('/'));
        const UniqueFd at =
            open_at(AT_FDCWD, directory.empty() ? "/" : directory, O_RDONLY | O_DIRECTORY, false);
        if (at) return takes_files(at.get()) && !is_mount(at.get(), name);
        if (errno != ENOENT) return false;
        name = directory.substr(directory.rfind('/') + 1);
    }
    return false;
}

} // namespace

bool may_be_changed(const PatchedFile& file) {
    return may_be_changed(file.path) &&
           (file.destination.empty() || may_be_changed(file.destination));
}

} // namespace ew::files
