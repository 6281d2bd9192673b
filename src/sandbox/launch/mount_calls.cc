#include "sandbox/launch/mount_calls.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace ew::sandbox::mount_calls {

namespace {

// From 424 on all architectures have the same numbers.
constexpr long open_tree = 428;
constexpr long move_mount = 429;
constexpr long fsopen = 430;
constexpr long fsconfig = 431;
constexpr long fsmount = 432;
constexpr long openat2 = 437;
constexpr long mount_setattr = 442;

constexpr unsigned recursive = 0x8000;  // AT_RECURSIVE
constexpr unsigned empty_path = 0x1000; // AT_EMPTY_PATH

struct Attributes { // struct mount_attr
    std::uint64_t set = 0;
    std::uint64_t clear = 0;
    std::uint64_t propagation = 0;
    std::uint64_t user_namespace = 0;
};

struct How { // struct open_how
    std::uint64_t flags = 0;
    std::uint64_t mode = 0;
    std::uint64_t resolve = 0;
};

UniqueFd descriptor(long result) {
    return UniqueFd(static_cast<int>(result));
}

int error_of(long result) {
    return result < 0 ? errno : 0;
}

unsigned flags_of(Reach reach) {
    return empty_path | (reach == Reach::with_all_below ? recursive : 0);
}

} // namespace

bool are_there() {
    // Fails with EINVAL or EBADF where the kernel has the newest of these calls.
    return ::syscall(mount_setattr, -1, "", empty_path, nullptr, 0) < 0 && errno != ENOSYS;
}

UniqueFd open_place(int directory, const std::string& path) {
    if (path.empty()) return UniqueFd(::fcntl(directory, F_DUPFD_CLOEXEC, 3));
    constexpr std::uint64_t no_links = 0x04 | 0x02; // RESOLVE_NO_SYMLINKS, RESOLVE_NO_MAGICLINKS
    How how = {O_PATH | O_CLOEXEC | O_NOFOLLOW, 0, no_links};
    return descriptor(::syscall(openat2, directory, path.c_str(), &how, sizeof how));
}

UniqueFd copy_of(int place, Reach reach) {
    constexpr unsigned clone = 1; // OPEN_TREE_CLONE
    return descriptor(
        ::syscall(open_tree, place, "", clone | unsigned{O_CLOEXEC} | flags_of(reach)));
}

UniqueFd new_mount(const char* type, std::initializer_list<Option> options,
                   std::uint64_t attributes) {
    enum Command : unsigned { set_flag = 0, set_string = 1, create = 6 }; // FSCONFIG_*

    const UniqueFd context = descriptor(::syscall(fsopen, type, 1)); // FSOPEN_CLOEXEC
    if (!context) return {};
    for (const auto& [name, value] : options) {
        const Command command = value.empty() ? set_flag : set_string;
        const char* const text = value.empty() ? nullptr : value.c_str();
        if (::syscall(fsconfig, context.get(), command, name, text, 0) != 0) return {};
    }
    if (::syscall(fsconfig, context.get(), create, nullptr, nullptr, 0) != 0) return {};
    return descriptor(::syscall(fsmount, context.get(), 1, attributes)); // FSMOUNT_CLOEXEC
}

int set(int mount, std::uint64_t attributes, Reach reach) {
    Attributes wanted;
    wanted.set = attributes;
    return error_of(::syscall(mount_setattr, mount, "", flags_of(reach), &wanted, sizeof wanted));
}

int put(int mount, int place) {
    constexpr unsigned by_descriptors = 0x04 | 0x40; // MOVE_MOUNT_{F,T}_EMPTY_PATH
    return error_of(::syscall(move_mount, mount, "", place, "", by_descriptors));
}

} // namespace ew::sandbox::mount_calls
