// The environment of a command that an agent runs: no secrets, no colours, no pager that waits for
// a key, one fixed locale.
#pragma once

#include "core/environment.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

struct ExecEnvironment {
    Variables variables;
    std::vector<std::string> dropped; // sorted names of variables that are not passed on
};

// Returns the environment of a command. Later steps override earlier ones: the inherited variables
// that the policy allows, the fixed variables (NO_COLOR, TERM, the locale, pagers), the variables
// of the call, and last EXECWARD_EXEC=1 and EXECWARD_SESSION_ID, which nobody can change.
ExecEnvironment exec_environment(const EnvironmentPolicy& policy, const Variables& inherited,
                                 std::string_view session_id, const Variables& call_overlay);

// Returns true if a call can set this variable and affect only how programs print. That is known
// only for a few well-known names with plain values, and for the values of the fixed variables. An
// unknown name is not inert. Case matters.
bool is_inert_variable(std::string_view name, std::string_view value);

// The environment for a command that runs without a question because it is known to be harmless. Of
// the given variables it has only inert ones, PATH, HOME, and those that name the user and the
// session. The locale is C.UTF-8. The pagers and git settings prevent a repository's own settings
// from starting programs where git allows that. The sandbox must contain the rest that a hostile
// repository can do (external diff, textconv, filters).
Variables hardened(Variables variables);

} // namespace ew::core
