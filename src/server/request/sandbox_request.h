// From the confinement in a request or in the settings to the policy and context of a sandbox.
#pragma once

#include "base/result.h"
#include "config/paths.h"
#include "protocol/process_start.h"
#include "sandbox/policy/policy.h"
#include "server/session/session_settings.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class Session;

// The starts that a server accepts.
enum class SandboxSelection : std::uint8_t {
    automatic, // with or without a sandbox, as the start asks
    require,   // only with a sandbox
    forbid,    // only without a sandbox
};

// Values for members that the request leaves out.
struct ServerSide {
    std::vector<std::string> hidden = {}; // see hidden_places()
    sandbox::Enforcement enforcement = sandbox::Enforcement::require;
    bool reports_writes = false;
};

// Returns the values of a session with its current settings.
ServerSide server_side(const Session& session);

// The confinement of one process. The process keeps it: later settings do not change it.
struct SandboxOrder {
    sandbox::Policy policy = {};
    sandbox::Context context = {};
    // The policy without what this start alone is granted; nullopt: it is granted nothing.
    std::optional<sandbox::Policy> base = {};

    const sandbox::Policy& base_policy() const { return base ? *base : policy; }
};

// Returns the confinement of an operation on files. It is that of sandbox_of() with two
// differences: the network, which such an operation does not use, is not restricted, and /tmp is
// the machine's, read-only, because files in a private /tmp would be lost. `cwd` is used if the
// request names no directory.
Result<std::optional<SandboxOrder>>
sandbox_of_files(const std::optional<protocol::SandboxRequest>& request, std::string cwd,
                 const ServerSide& side);

// Changes a policy for programs into one for operations on files, as above.
void fit_for_files(sandbox::Policy& policy);

// For operations that only read: nothing is writable, so no path needs protection.
void forbid_writing(sandbox::Policy& policy);

// Returns the confinement of a process. Returns nullopt if the request asks for none, if somebody
// else confines the process, or if there is nothing to enforce. Errors: invalid_params, with the
// member; sandbox_unavailable for a guarantee that no version of execward can keep.
Result<std::optional<SandboxOrder>> sandbox_of(const protocol::StartParams& params,
                                               const ServerSide& side);

sandbox::ModeOptions mode_options(const config::ConfinementOptions& confinement);

// Returns the policy of a command without extra permissions.
sandbox::Policy policy_of(const SessionSettings& settings);

// `tmpdir` is the TMPDIR of the server and its settings, or empty. A TMPDIR of the call does not
// count: the call could make any directory writable by it.
sandbox::Context context_of(const SessionSettings& settings, std::string workdir,
                            std::string tmpdir, std::vector<std::string> hidden);

// Returns the value of TMPDIR. Returns an empty string if it is not set or not absolute.
std::string tmpdir_in(const core::Variables& environment);

// Returns the places of execward's own configuration, rules and state: directories, and files in
// directories that are not execward's. `database` may be ":memory:".
std::vector<std::string> hidden_places(const config::Paths& paths, const std::string& database);

} // namespace ew::server
