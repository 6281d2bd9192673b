#include "sandbox/walk/watches.h"

#include <sys/statfs.h>

#include <algorithm>

namespace ew::sandbox {

int Watches::add(const std::string& directory) const {
    constexpr std::uint32_t kinds = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                    IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB;
    return ::inotify_add_watch(fd_.get(), directory.c_str(), kinds | IN_ONLYDIR | IN_DONT_FOLLOW);
}

void Watches::remove(int watch) const {
    (void)::inotify_rm_watch(fd_.get(), watch); // the directory may be gone, and the watch with it
}

bool tells_all_changes(int directory) {
    // ext2 to ext4, xfs, btrfs, tmpfs (statfs(2))
    constexpr std::array<decltype(statfs::f_type), 4> types = {0xef53, 0x58465342, 0x9123683e,
                                                               0x01021994};
    struct statfs status = {};
    return ::fstatfs(directory, &status) == 0 &&
           std::ranges::find(types, status.f_type) != types.end();
}

} // namespace ew::sandbox
