// A policy made concrete for the file system as it is now: which mounts, in which order, and what
// Landlock allows. Made in the process that is to become the sandbox (launch.cc), so a slow disk
// holds up nobody else.
#pragma once

#include "base/result.h"
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
        device,            // the same for a device that was granted
        read_only,         // the path itself, read-only
        hidden,            // an empty directory that cannot be read, in the place of a directory
        hidden_file,       // an unreadable empty file, in the place of a file
        private_tmp,       // an empty directory of the command's own, mode 1777
        private_directory, // the same with mode 0700
        link,              // a symbolic link, where nothing else shows what the path leads through
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
    bool reads_root = true; // false: only what `mounts` show is visible
    // Depth first: parents before children, and what is below a directory right after it.
    std::vector<Mount> mounts = {};
    std::vector<std::string> writable = {}; // for Landlock: roots of what may be written, canonical
    // What has to be made before the start and removed after it, so that nothing else can be put in
    // its place: directories, outer before inner ones, and files.
    std::vector<std::string> placeholders = {};
    std::vector<PlaceholderFile> placeholder_files = {};
    bool has_own_network = true;
    bool keeps_writes = false;           // the sandbox's own directories and /dev are read-only
    std::vector<std::string> notes = {}; // what was cut short or left out, one sentence each
    GuaranteeSet missing = {};           // of the file system's promises: what could not be planned

    bool operator==(const Plan&) const = default;
};

// Reads the file system. Bounds: most_directories visited in search of nested repositories; of
// most_repositories of them what git executes is read-only, of most_closed_repositories more all of
// .git; GlobBounds for each pattern. What is beyond them is lost: see Plan::missing.
// Errors: sandbox_unavailable, with a hint: where the policy requires everything, a path that must
// be masked or protected and cannot be; a root of the workspace or a directory of the command that
// does not exist or that no sandbox may see; a name of what is to be writable, or of execward's
// own, that leads through a link where the command may write.
constexpr std::size_t most_directories = 200'000;
constexpr std::size_t most_repositories = 24;
constexpr std::size_t most_closed_repositories = 200;
Result<Plan> make_plan(const Policy& policy, const Context& context);

} // namespace ew::sandbox
