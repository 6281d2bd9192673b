// Facts about this machine that a sandbox's mounts depend on, apart from any policy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ew::sandbox {

// Returns the paths of the entries of /proc about the whole machine that a user may write or that
// not every user may read: root owns them, and their modes are the same in all instances of /proc.
// Entries that everybody may read and nobody may write are left out, since each mount makes a start
// slower.
// `listed` leads to a /proc whose names are taken, and `path` to one that tells their modes:
// listing that of the machine takes long, since all processes are in it. What is only in the first
// one counts. The results begin with /proc.
std::vector<std::string> entries_of_the_machine(const std::string& path, const std::string& listed);

// Returns the devices in a directory of /dev and below, not those that links lead to, and not more
// than the bounds.
std::vector<std::string> devices_below(const std::string& directory, int depth = 4);

// Returns the most bytes that a directory in memory may take. Without a limit it may take half of
// the machine's memory (tmpfs(5)).
std::uint64_t most_in_own_directory();

} // namespace ew::sandbox
