// From the params of exec/command to what would run: looked up once, then shown, judged and started
// as it is.
#pragma once

#include "base/result.h"
#include "core/exec_environment.h"
#include "os/shells.h"
#include "os/spawn.h"
#include "protocol/exec.h"
#include "server/request/extra_permissions.h"
#include "server/request/sandbox_request.h"
#include "server/session/session_settings.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::server {

// Of a plan for another environment.
struct RemotePlan {
    std::string environment;               // its id
    std::vector<std::string> reached_by;   // the program that leads there, with its arguments
    std::vector<std::string> surroundings; // of that program: its directory, variables set for it
    std::vector<std::string> workspace_roots;
    std::string shell;                  // the one that the server there calls its own
    bool is_execward = false;           // the server there is one
    bool confines = false;              // it can
    protocol::EnvPolicy inherited = {}; // of its variables
};

struct ExecPlan {
    protocol::ExecMode mode = protocol::ExecMode::shell;
    std::vector<std::string> argv; // as the program sees it
    // Absolute, symlinks resolved. In another environment as it is written.
    std::string program; // that runs
    std::string workdir;
    bool is_login = false; // a login shell
    core::ExecEnvironment environment;
    // What the call sets that may change what programs do, as NAME=value, sorted.
    std::vector<std::string> own_variables;
    bool has_risky_variable = false; // one of them is known for that
    std::optional<os::WindowSize> terminal;
    // How it is to be confined, as the session said when the call came: what is set later does not
    // touch it. No policy: a sandbox has nothing to do.
    core::SandboxMode sandbox_mode = core::SandboxMode::danger_full_access;
    std::optional<sandbox::Policy> policy;
    sandbox::Context context;
    ExtraPermissions extra;           // what the call asks for beyond the policy
    std::optional<RemotePlan> remote; // it is to run in another environment

    // As messages tell it.
    std::optional<std::string> environment_id() const {
        return remote ? std::optional(remote->environment) : std::nullopt;
    }
};

// Where a call happens.
struct ExecPlace {
    const SessionSettings& settings;
    const os::ShellProgram& login_shell; // the user's
    std::string_view session_tag;
    std::vector<std::string> hidden; // from every sandbox: see hidden_places()
};

protocol::ExecMode mode_of(const protocol::ExecCommandParams& params);

// `shell` runs a script. Errors: invalid_params.
Result<std::vector<std::string>> argv_of(const protocol::ExecCommandParams& params,
                                         const os::ShellProgram& shell, bool is_login);

// Confines it as the settings say, and adds what the call asks for. The context is the caller's.
// Errors: invalid_params.
Result<void> confine(ExecPlan& plan, const protocol::ExecCommandParams& params,
                     const SessionSettings& settings, sandbox::Additions additions);

// The variables that the call sets.
void add_own_variables(ExecPlan& plan, const protocol::ExecCommandParams& params);

// All but the program. Errors: invalid_params (also for a path of additionalPermissions);
// spawn_not_found if there is no such directory.
Result<ExecPlan> plan_exec(const protocol::ExecCommandParams& params, const ExecPlace& place);

// Looks the program up. Errors: spawn_not_found, spawn_failed.
Result<void> find_program(ExecPlan& plan);

// The PATH that the program will have.
std::string_view search_path(const ExecPlan& plan);

// Will it read its text as UTF-8, or byte by byte? Elsewhere a backslash can be half a character.
bool has_utf8_locale(const ExecPlan& plan);

// `is_harmless`: it runs unasked because it is known to be harmless, so it gets an environment in
// which it is.
os::SpawnRequest spawn_request(const ExecPlan& plan, bool is_harmless, bool has_stdin);

// How an attempt with these extra permissions is confined. Returns nullopt if it runs unconfined.
std::optional<SandboxOrder> confined_start(const ExecPlan& plan, const ExtraPermissions& extra);

// A digest of what a remembered approval has to agree in: what runs, with what input and extras,
// how confined, with which extra permissions. The directory is not part of it: the scope of the
// approval says where it counts.
std::string approval_key(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                         const ExtraPermissions& extra);

} // namespace ew::server
