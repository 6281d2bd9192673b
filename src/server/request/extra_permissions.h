// What a command may do beyond its session's policy: what a call asks for, what would let through
// what was refused to it, and how a person reads that.
#pragma once

#include "base/result.h"
#include "core/judgement/policy_types.h"
#include "protocol/approval.h"
#include "sandbox/policy/policy.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::server {

// An approval names them, and covers no others.
struct ExtraPermissions {
    core::SandboxPermissions permissions = core::SandboxPermissions::use_default;
    sandbox::Additions additions = {}; // absolute paths without links, sorted, each once

    bool operator==(const ExtraPermissions&) const = default;
};

// Paths count from `workdir`, empty ones do not count. A path that does not exist yet is the one
// that would be made. Errors: invalid_params (a NUL, a ".." behind something that does not exist).
Result<sandbox::Additions> additions_of(const protocol::AdditionalPermissions& wanted,
                                        const std::string& workdir);

// The same as additions_of() where only core::path_as_written() can be told.
Result<sandbox::Additions> additions_as_written(const protocol::AdditionalPermissions& wanted,
                                                const std::string& workdir);

// Reads the file system. False: a directory on the way has become a link since they were looked up.
bool are_where_they_were(const sandbox::Additions& additions);

sandbox::Additions together(sandbox::Additions one, const sandbox::Additions& other);

// What to allow so that this would not have been refused: the paths, the network. Nothing wider
// than the directory that something was to be made or removed in, and never the root. Absent:
// nothing of it can be allowed. Reads the file system.
std::optional<sandbox::Additions> widening_for(const std::vector<protocol::Denial>& denials);

protocol::Widening to_wire(const sandbox::Additions& additions);
protocol::AdditionalPermissions permissions_of(const sandbox::Additions& additions);

// For a person, safe to show: "write /a, read /b, use the network (all of it)".
std::string described(const sandbox::Additions& additions);

// "connect to 192.0.2.1:9 by /usr/bin/curl, 3 times (network: restricted)", safe to show.
std::string described(const protocol::Denial& denial);

// "2 refused: connect 192.0.2.1:9; open /etc/x", for the audit.
std::string summary_of(const std::vector<protocol::Denial>& denials);

bool is_directory(const std::string& path);

// Something that runs outside the sandbox later may come from there: hooks and settings of tools.
bool holds_what_runs_later(std::string_view path);

} // namespace ew::server
