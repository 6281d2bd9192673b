// The two programs that build a sandbox, and the check that they can be trusted: only root (or, for
// execward-init, the user of the server) can have written or replaced them. PATH is never searched.
#pragma once

#include "base/result.h"

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ew::sandbox {

// The state of a file; a change or a replacement gives another identity.
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

// Accepts a regular executable file that belongs to root or `owner`, as does each directory above
// it, and that no other user may write to. Other users may write to a directory above it if it is
// sticky: then only the owner of an entry can replace it (inode(7)).
// Errors: sandbox_unavailable; the message names the path and its fault, the hint the way out.
Result<TrustedProgram> trusted_program(const std::string& path, uid_t owner);

constexpr std::array<std::string_view, 3> bubblewrap_places = {"/usr/bin/bwrap", "/bin/bwrap",
                                                               "/usr/local/bin/bwrap"};

// Returns the first program that can be trusted. Error: that of the first program that exists, or
// that none exists.
Result<TrustedProgram>
find_bubblewrap(std::span<const std::string_view> places = bubblewrap_places);

// Does it accept --size? It does from 0.7 on, unless it is set-user-ID; otherwise the option is an
// error. Asking for the version would take another process, so this searches the file for the
// option.
bool takes_size(const std::string& bubblewrap);

// `path` is init_place(). A relocatable build also checks the running program: who can replace that
// one, or the directory of both, can replace the other. Errors: see trusted_program().
Result<TrustedProgram> find_init(const std::string& path);

// The SHA-256 (hexadecimal) of the execward-init of a relocatable build, else empty. Generated.
extern const std::string_view init_digest;

inline bool is_relocatable() {
    return !init_digest.empty();
}

// Is this the execward-init that was built with this program? Reads the whole file, so the result
// is kept for the last file that was. An empty digest fits every file. Errors: sandbox_unavailable.
Result<void> check_build(const TrustedProgram& init, std::string_view digest);

// find_init() and, in a relocatable build, check_build().
Result<TrustedProgram> find_own_init(const std::string& path);

} // namespace ew::sandbox
