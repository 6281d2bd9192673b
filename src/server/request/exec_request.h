// From the params of exec/command to a plan: names are looked up once, and the plan is shown,
// judged and started as it is.
#pragma once

#include "base/result.h"
#include "core/exec_environment.h"
#include "os/shells.h"
#include "os/spawn.h"
#include "protocol/exec.h"
#include "protocol/exec_events.h"
#include "protocol/process_start.h"
#include "server/request/extra_permissions.h"
#include "server/request/sandbox_request.h"
#include "server/session/session_settings.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::server {

// The part of a plan that only another environment needs.
struct RemotePlan {
    std::string environment;               // its id
    std::vector<std::string> reached_by;   // the program that leads there, with its arguments
    std::vector<std::string> surroundings; // of that program: its directory, its variables
    std::vector<std::string> workspace_roots;
    std::string shell;                  // the shell that the server there reports
    bool is_execward = false;           // the server there is execward
    bool confines = false;              // the server there can confine programs
    protocol::EnvPolicy inherited = {}; // of the program's variables
};

struct ExecPlan {
    protocol::ExecMode mode = protocol::ExecMode::shell;
    std::vector<std::string> argv; // the program's own argv
    // Absolute, symlinks resolved. In another environment, as the call wrote them.
    std::string program; // the program that runs
    std::string workdir;
    bool is_login = false; // the shell is a login shell
    core::ExecEnvironment environment;
    // Variables that the call or its session sets and that may change what programs do, as
    // NAME=value, sorted.
    std::vector<std::string> own_variables;
    std::optional<os::WindowSize> terminal;
    // The confinement that the session had when the call arrived: later settings do not change it.
    // Without a policy, a sandbox has nothing to enforce.
    core::SandboxMode sandbox_mode = core::SandboxMode::danger_full_access;
    std::optional<sandbox::Policy> policy;
    sandbox::Context context;
    ExtraPermissions extra;           // permissions of the call beyond the policy
    std::optional<RemotePlan> remote; // set if it runs in another environment

    // Returns the id for messages. Returns nullopt for this machine.
    std::optional<std::string> environment_id() const {
        return remote ? std::optional(remote->environment) : std::nullopt;
    }
};

// What plan_exec() must know about the session of a call.
struct ExecPlace {
    const SessionSettings& settings;
    const os::ShellProgram& login_shell; // the user's shell
    std::string_view session_tag;
    std::vector<std::string> hidden;  // paths hidden from every sandbox: see hidden_places()
    core::Variables set_by_user = {}; // by the file of settings; the client set the others
};

protocol::ExecMode mode_of(const protocol::ExecCommandParams& params);

// Returns the argv of the call. `shell` runs a script. Errors: invalid_params.
Result<std::vector<std::string>> argv_of(const protocol::ExecCommandParams& params,
                                         const os::ShellProgram& shell, bool is_login);

// Sets the confinement from the settings and from the permissions that the call asks for. The
// caller sets the context. Errors: invalid_params.
Result<void> confine(ExecPlan& plan, const protocol::ExecCommandParams& params,
                     const SessionSettings& settings, sandbox::Additions additions);

// Is the shell of the call, given or not, a login shell?
bool is_login_shell(const protocol::ExecCommandParams& params, const SessionSettings& settings);

// Adds the variables that the call sets, and those that the client set for all calls.
void add_own_variables(ExecPlan& plan, const protocol::ExecCommandParams& params,
                       const SessionSettings& settings, const core::Variables& set_by_user);

// Plans everything but the program. Errors: invalid_params (also for a path of
// additionalPermissions); spawn_not_found if the directory does not exist.
Result<ExecPlan> plan_exec(const protocol::ExecCommandParams& params, const ExecPlace& place);

// Looks up the program. Errors: spawn_not_found, spawn_failed.
Result<void> find_program(ExecPlan& plan);

// Returns the PATH that the program will have.
std::string_view search_path(const ExecPlan& plan);

// Returns true if programs will read text as UTF-8, not byte by byte. In other encodings, a
// backslash can be half a character.
bool has_utf8_locale(const ExecPlan& plan);

os::SpawnRequest spawn_request(const ExecPlan& plan, core::Hardening hardening, bool has_stdin);

// Returns the sandbox of an attempt with these extra permissions. Returns nullopt if the attempt is
// not confined.
std::optional<SandboxOrder> confined_start(const ExecPlan& plan, const ExtraPermissions& extra);

// Does such an attempt, on this machine, have a network by host?
bool has_network_by_host(const ExecPlan& plan, const ExtraPermissions& extra);

// Returns a digest of everything that must be equal for a remembered approval: the program, its
// input and variables, its confinement and extra permissions. The directory is not part of the
// digest: the scope of the approval says where it counts.
std::string approval_key(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                         const ExtraPermissions& extra);

} // namespace ew::server
