// From what a client or a setting says about confinement to what the sandbox takes.
#pragma once

#include "base/result.h"
#include "config/paths.h"
#include "protocol/process.h"
#include "sandbox/policy/policy.h"
#include "server/session/session_settings.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class Session;

// What a server starts at all.
enum class SandboxSelection : std::uint8_t {
    automatic, // with or without a sandbox, as a start asks for
    require,   // only with
    forbid,    // only without
};

// What a request does not say.
struct ServerSide {
    std::vector<std::string> hidden = {}; // see hidden_places()
    sandbox::Enforcement enforcement = sandbox::Enforcement::require;
    bool reports_writes = false;
};

// Of a session as it is set now.
ServerSide server_side(const Session& session);

// How one process is to be confined. The process holds it: later changes of settings do not touch
// it.
struct SandboxOrder {
    sandbox::Policy policy = {};
    sandbox::Context context = {};
};

// What an operation on files is to be confined to: as sandbox_of() for a process, but for the
// network, which it does not use, and for a /tmp of its own, in which what it writes would be lost;
// /tmp is the machine's then, and read-only. `cwd` is taken where the request names none.
Result<std::optional<SandboxOrder>>
sandbox_of_files(const std::optional<protocol::SandboxRequest>& request, std::string cwd,
                 const ServerSide& side);

// Of a policy for programs what an operation on files needs, as above.
void fit_for_files(sandbox::Policy& policy);

// For what only reads: nothing can be written, and so nothing has to be protected from it.
void forbid_writing(sandbox::Policy& policy);

// How a process is to be confined. Absent: not at all, since nothing was asked for, somebody else
// confines it, or there is nothing to enforce. Errors: invalid_params, with the member; and
// sandbox_unavailable for what no version of ours can keep.
Result<std::optional<SandboxOrder>> sandbox_of(const protocol::StartParams& params,
                                               const ServerSide& side);

sandbox::ModeOptions mode_options(const config::ConfinementOptions& confinement);

// Of a command that asks for nothing special.
sandbox::Policy policy_of(const SessionSettings& settings);

// `tmpdir` is $TMPDIR as the server and its settings have it, empty for none: a call that could
// name it would name what it may write.
sandbox::Context context_of(const SessionSettings& settings, std::string workdir,
                            std::string tmpdir, std::vector<std::string> hidden);

// The value of TMPDIR; empty if there is none, or none that is absolute.
std::string tmpdir_in(const core::Variables& environment);

// Where execward's own configuration, rules and state are: directories, and files if they lie in
// one that is not execward's. `database` may be ":memory:".
std::vector<std::string> hidden_places(const config::Paths& paths, const std::string& database);

} // namespace ew::server
