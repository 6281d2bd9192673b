// From the params of exec/command to what would run: looked up once, then shown, judged and started
// as it is.
#pragma once

#include "base/result.h"
#include "core/exec_environment.h"
#include "os/shells.h"
#include "os/spawn.h"
#include "protocol/exec.h"
#include "server/confinement.h"
#include "server/exec_reach.h"
#include "server/session_settings.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::server {

struct ExecPlan {
    std::optional<std::string> environment_id = {}; // where it runs; absent: on this machine
    protocol::ExecMode mode = protocol::ExecMode::shell;
    std::vector<std::string> argv; // as the program sees it
    std::string program;           // the absolute path that runs, symlinks resolved
    std::string workdir;           // absolute, symlinks resolved
    bool is_login = false;         // a login shell
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
    Reach reach; // what the call asks for beyond the policy
};

// Where a call happens.
struct ExecPlace {
    const SessionSettings& settings;
    const os::ShellProgram& login_shell; // the user's
    std::string_view session_tag;
    std::vector<std::string> hidden; // from every sandbox: see hidden_places()
};

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

// An attempt with this reach. Absent: it runs unconfined.
std::optional<ConfinedStart> confined_start(const ExecPlan& plan, const Reach& reach);

// A digest of what a remembered approval has to agree in: what runs, with what input and extras,
// how confined, with what reach. The directory is not part of it: the scope of the approval says
// where it counts.
std::string approval_key(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                         const Reach& reach);

} // namespace ew::server
