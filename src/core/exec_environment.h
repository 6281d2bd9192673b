// The environment of a command that an agent runs: no secrets, no colours, no pager that waits for
// a key, one fixed locale.
#pragma once

#include "core/environment.h"
#include "core/judgement/policy_types.h"

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

// The sandbox must contain the rest that a hostile repository can do (external diff, textconv,
// filters).
Variables hardened(Variables variables, Hardening hardening);

// Does Hardening::all leave it, although it is not inert?
bool is_kept_by_hardening(std::string_view name);

} // namespace ew::core
