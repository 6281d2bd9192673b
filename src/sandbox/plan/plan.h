// A policy made concrete for the file system as it is now: which mounts, in which order, and what
// Landlock allows. It is made in the process that becomes the sandbox (launch_child.cc), so a slow
// disk delays nothing else.
#pragma once

#include "base/result.h"
#include "sandbox/plan/look_places.h"
#include "sandbox/policy/machine.h"
#include "sandbox/policy/policy.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

struct Mount {
    enum class Kind : std::uint8_t {
        writable,          // the path itself, writable
        device,            // the device itself, writable, if it was granted
        read_only,         // the path itself, read-only
        hidden,            // an empty directory that cannot be read, in place of a directory
        hidden_file,       // an empty file that cannot be read, in place of a file
        private_tmp,       // an empty directory of the command's own, mode 1777
        private_directory, // the same with mode 0700
        link,              // a symbolic link, where no other mount shows the target's path
    };

    Kind kind = Kind::read_only;
    std::string path = {};   // absolute, canonical
    std::string target = {}; // of a link

    bool operator==(const Mount&) const = default;
};

// A file that has to be made before the start and removed after it: see placeholders.h.
struct PlaceholderFile {
    std::string path = {};
    std::string content = {};

    bool operator==(const PlaceholderFile&) const = default;
};

struct Plan {
    bool reads_root = true; // false: only the mounts are visible
    // Depth first: parents before children, and the mounts below a directory right after it.
    std::vector<Mount> mounts = {};
    std::vector<std::string> writable = {}; // canonical roots of the writable trees, for Landlock
    // Files and directories that are made before the start and removed after it, so that no program
    // can make its own files at these paths; outer directories come before inner ones.
    std::vector<std::string> placeholders = {};
    std::vector<PlaceholderFile> placeholder_files = {};
    LookPlaces look = {}; // empty unless Context::looks_afterwards
    bool has_own_network = true;
    bool has_hosts = false; // the network is made for this start alone (launch/host_network.h)
    std::vector<PlaceholderFile> own_files = {}; // shown in place of the machine's, read-only
    bool keeps_writes = false;           // the sandbox's own directories and /dev are read-only
    std::vector<std::string> notes = {}; // a sentence for each thing shortened or left out
    GuaranteeSet missing = {};           // guarantees of the file system that the plan cannot keep
    // The roots that Context::known does not have, for the plans of later commands.
    std::vector<os::KnownDirectory> roots = {};

    bool operator==(const Plan&) const = default;
};

// Reads the file system. Bounds: those of the walk (walk_order.h); in most_repositories nested
// repositories the files that git executes are read-only, in most_closed_repositories more all of
// .git. Directories that are beyond the bounds or that cannot be looked into are closed.
// Errors: sandbox_unavailable, with a hint, if the policy requires every guarantee and a path
// cannot be masked or protected as it must, or a root would have to be closed; if a root of the
// workspace or the directory of the command does not exist or no sandbox may see it; if the name of
// a writable path, or of one of execward's own, leads through a link where the command may write.
constexpr std::size_t most_repositories = 24;
constexpr std::size_t most_closed_repositories = 200;
// `walker`: borrowed, a socket to a process that keeps walks (walker.h); -1: each plan walks.
Result<Plan> make_plan(const Policy& policy, const Context& context, int walker = -1);

} // namespace ew::sandbox
