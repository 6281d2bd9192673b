// The confinement of a program, as far as it is known before the start.
#pragma once

#include "base/error.h"
#include "protocol/sandbox.h"
#include "sandbox/policy/machine.h"
#include "server/request/exec_request.h"

#include <optional>

namespace ew::server {

// `machine` is null while its abilities are unknown.
protocol::Confinement expected_confinement(const sandbox::Machine* machine, const ExecPlan& plan,
                                           const ExtraPermissions& extra);

// Returns why the program cannot run on this machine; such a call asks no question. Returns nullopt
// if no reason is known.
std::optional<Error> hindrance(const sandbox::Machine* machine, const ExecPlan& plan);

} // namespace ew::server
