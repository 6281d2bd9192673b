// Permissions beyond the session's policy: those that a call asks for, and those that would have
// let refused accesses through, with a text for a person.
#pragma once

#include "base/result.h"
#include "core/judgement/policy_types.h"
#include "core/network/hosts.h"
#include "protocol/approval.h"
#include "protocol/permissions.h"
#include "sandbox/policy/policy.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::server {

// An approval covers exactly these permissions.
struct ExtraPermissions {
    core::SandboxPermissions permissions = core::SandboxPermissions::use_default;
    sandbox::Additions additions = {}; // absolute paths without links; all sorted, each once

    bool operator==(const ExtraPermissions&) const = default;
};

// Resolves relative paths from `workdir` and skips empty ones. A path that does not exist stands
// for the file that would be made. Errors: invalid_params (a NUL, or a ".." after a part that does
// not exist).
Result<sandbox::Additions> additions_of(const protocol::AdditionalPermissions& wanted,
                                        const std::string& workdir);

// Does the same for paths that only core::path_as_written() can resolve, in another environment.
Result<sandbox::Additions> additions_as_written(const protocol::AdditionalPermissions& wanted,
                                                const std::string& workdir);

// Returns the rules that allow the hosts of the permissions.
std::vector<core::HostRule> rules_of(const sandbox::Additions& additions);

// Returns false if a directory on the way has become a link since the paths were looked up. Reads
// the file system.
bool are_where_they_were(const sandbox::Additions& additions);

sandbox::Additions together(sandbox::Additions one, const sandbox::Additions& other);

// Returns the paths and the network that must be allowed to let these accesses through. A path is
// never wider than sandbox::directory_to_open() and the part of it that exists, and never the root,
// the home directory or one above it. Returns nullopt if none of the accesses can be allowed. Reads
// the file system.
std::optional<sandbox::Additions> widening_for(const std::vector<protocol::Denial>& denials,
                                               const std::string& home);

protocol::Widening to_wire(const sandbox::Additions& additions);
protocol::AdditionalPermissions permissions_of(const sandbox::Additions& additions);

// Text for a person, with safe characters only: "write /a, read /b, use the network (all of it)".
std::string described(const sandbox::Additions& additions);

// Text with safe characters only: "connect to 192.0.2.1:9 by /usr/bin/curl, 3 times (network:
// restricted)".
std::string described(const protocol::Denial& denial);

// Text for the audit: "2 refused: connect 192.0.2.1:9; open /etc/x".
std::string summary_of(const std::vector<protocol::Denial>& denials);

bool is_directory(const std::string& path);

// Returns true if the path can hold files that run outside the sandbox later: hooks and settings of
// tools.
bool holds_what_runs_later(std::string_view path);

} // namespace ew::server
