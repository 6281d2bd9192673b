// The kernel's newer mount interface: mounts are made detached, get their flags, and are then put
// in place, by descriptors and without a path that could change meanwhile. Needs Linux 5.12.
// Sources: open_tree(2), move_mount(2), fsopen(2), fsconfig(2), fsmount(2), mount_setattr(2) and
// openat2(2). Called by number, since the C library of a distribution may lack them.
#pragma once

#include "base/unique_fd.h"

#include <cstdint>
#include <initializer_list>
#include <string>

namespace ew::sandbox::mount_calls {

// Attributes of mounts (MOUNT_ATTR_* in linux/mount.h).
constexpr std::uint64_t read_only = 0x1;
constexpr std::uint64_t no_setuid = 0x2;
constexpr std::uint64_t no_devices = 0x4;
constexpr std::uint64_t no_programs = 0x8;

enum class Reach : bool { one, with_all_below };

struct Option {
    const char* name;
    std::string value; // empty: the option has none
};

// Does the kernel have the whole interface?
bool are_there();

// All functions that return a descriptor return an empty one, with errno, after an error; the
// others return errno, or 0.

// Opens `path` below `directory` as a place (O_PATH). A link anywhere in it is an error (ELOOP).
// `path` is relative; empty: the directory itself.
UniqueFd open_place(int directory, const std::string& path);

// Returns a detached copy of the mount at `place`, from there on downwards.
UniqueFd copy_of(int place, Reach reach);

// Returns a new detached file system.
UniqueFd new_mount(const char* type, std::initializer_list<Option> options,
                   std::uint64_t attributes);

int set(int mount, std::uint64_t attributes, Reach reach);

int put(int mount, int place);

} // namespace ew::sandbox::mount_calls
