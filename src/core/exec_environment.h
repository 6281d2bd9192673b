// The environment of a command that an agent runs: no secrets, no colours, no pager that waits for
// a key, one locale.
#pragma once

#include "core/environment.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

struct ExecEnvironment {
    Variables variables;
    std::vector<std::string> dropped; // names, sorted: inherited by the server and not passed on
};

// What a command gets, later steps over earlier ones: what the policy lets through, the fixed
// variables (NO_COLOR, TERM, the locale, pagers), the variables of the call, and last the two that
// nobody can change: EXECWARD_EXEC=1 and EXECWARD_SESSION_ID.
ExecEnvironment exec_environment(const EnvironmentPolicy& policy, const Variables& inherited,
                                 std::string_view session_id, const Variables& call_overlay);

// Can a call set this without any program doing something else by it than print differently? Only
// a few well-known names with plain values are known to be so, and what the fixed variables say
// anyway. Of a name that means nothing to us nobody knows: it is not inert. Case matters.
bool is_inert_variable(std::string_view name, std::string_view value);

// Could a variable of this name, by some value, make a shell, or a program that is otherwise
// harmless, run or load something else, read other settings, connect to another place, or write a
// file? Goes by families of names, so it says yes to names that nothing uses; what it says no to is
// harmless to programs that are known here, not to every program. Case does not matter. A name for
// which this is true can have an inert value all the same: ask is_inert_variable first.
bool is_risky_variable(std::string_view name);

// For a command that runs unasked because it is known to be harmless: without risky variables that
// are not inert, but with PATH and HOME as they are, in the locale C.UTF-8, and with pagers and git
// settings under which a repository's own settings start no program that can be kept from it. What
// stays possible to a hostile repository (external diff, textconv, filters) is for the sandbox to
// hold.
Variables hardened(Variables variables);

} // namespace ew::core
