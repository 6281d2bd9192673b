// The two programs that a sandbox is built with, and why they can be trusted: nobody but root (or,
// for execward-init, the user of the server) can have written or replaced them. PATH is never
// asked.
#pragma once

#include "base/result.h"

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ew::sandbox {

// A file as it is now; replacing or changing it makes another identity.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;     // bytes
    std::int64_t modified = 0; // nanoseconds since 1970
    std::int64_t changed = 0;  // likewise, also for mode and owner

    bool operator==(const FileIdentity&) const = default;
};

struct TrustedProgram {
    std::string path; // absolute, without symbolic links
    FileIdentity identity;
};

// A regular file that can be executed, which belongs to root or `owner`, as does each directory
// above it, and which nobody else may write to. Above it, others may write where the directory is
// sticky: what is there can then be replaced by its owner alone (inode(7)).
// Errors: sandbox_unavailable; what is wrong with which path, and the way out as hint.
Result<TrustedProgram> trusted_program(const std::string& path, uid_t owner);

constexpr std::array<std::string_view, 3> bubblewrap_places = {"/usr/bin/bwrap", "/bin/bwrap",
                                                               "/usr/local/bin/bwrap"};

// The first that can be trusted. Error: that of the first that exists, else that there is none.
Result<TrustedProgram>
find_bubblewrap(std::span<const std::string_view> places = bubblewrap_places);

// Does it know --size? From 0.7 on, and not a program that is set-user-ID; else the option is an
// error. To ask for the version would take another process; what it knows is in the program.
bool takes_size(const std::string& bubblewrap);

// `path`: where this build installs it.
Result<TrustedProgram> find_init(const std::string& path);

} // namespace ew::sandbox
