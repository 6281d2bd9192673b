// Landlock (landlock(7)): which paths may be written. Reading and executing are not restricted. The
// constants and structures are defined here, since the headers of a distribution may be older than
// its kernel.
#pragma once

#include "sandbox/init/order_format.h"

#include <cstdint>

namespace ew::sandbox::init::landlock {

// LANDLOCK_ACCESS_FS_*
enum Right : std::uint64_t {
    execute = 1 << 0,
    write_file = 1 << 1,
    read_file = 1 << 2,
    read_directory = 1 << 3,
    remove_directory = 1 << 4,
    remove_file = 1 << 5,
    make_character_device = 1 << 6,
    make_directory = 1 << 7,
    make_regular = 1 << 8,
    make_socket = 1 << 9,
    make_fifo = 1 << 10,
    make_block_device = 1 << 11,
    make_link = 1 << 12,
    refer = 1 << 13,        // from ABI 2 on
    truncate = 1 << 14,     // from ABI 3 on
    device_ioctl = 1 << 15, // from ABI 5 on
};

// LANDLOCK_SCOPE_*, from ABI 6 on
enum Scope : std::uint64_t {
    abstract_sockets = 1 << 0,
    signals = 1 << 1,
};

struct RulesetAttributes {
    std::uint64_t handled_files = 0;
    std::uint64_t handled_network = 0; // from ABI 4 on
    std::uint64_t scoped = 0;          // from ABI 6 on
};

// The size for the ABI of the order, which may be older than the kernel's. A kernel accepts a
// longer structure only if the part that it does not know is zero.
constexpr unsigned long attributes_size(unsigned abi) {
    return abi < 4 ? 8 : abi < 6 ? 16 : 24;
}

constexpr std::uint64_t file_rights = execute | write_file | read_file | truncate | device_ioctl;

// The rights to change files and directories.
constexpr std::uint64_t write_rights(unsigned abi) {
    std::uint64_t rights = write_file | remove_directory | remove_file | make_character_device |
                           make_directory | make_regular | make_socket | make_fifo |
                           make_block_device | make_link;
    if (abi >= 2) rights |= refer;
    if (abi >= 3) rights |= truncate;
    return rights;
}

// The rights to change the content of existing files.
constexpr std::uint64_t content_rights(unsigned abi) {
    return write_rights(abi) & (write_file | truncate);
}

struct Failure {
    int error = 0; // errno, or 0
    const char* path = "";
};

// The identity that a path must have, if it is known. A path that leads to another file by now gets
// no rights.
struct Known {
    const order_format::Expected* expected = nullptr;
    const char* const* paths = nullptr;
    std::uint32_t count = 0;
};

struct Wish {
    unsigned abi = 0;
    bool scopes_sockets_and_signals = false;
    const char* const* writable = nullptr; // both end with a null pointer
    const char* const* device_writable = nullptr;
    Known known = {};
    bool has_terminal = false; // descriptor 0 may be opened again, for example through /dev/stdin
};

// Confines this process, which must have no_new_privs, and all processes that it starts. Skips a
// path that does not exist: nothing can be written there. Fails with ESTALE if a path is not the
// expected file.
Failure restrict_self(const Wish& wish);

} // namespace ew::sandbox::init::landlock
