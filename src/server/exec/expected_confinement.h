// The confinement of a program, as far as it is known before the start.
#pragma once

#include "base/error.h"
#include "protocol/sandbox.h"
#include "server/confine/sandbox_host.h"
#include "server/environment/remote_backend.h"
#include "server/request/exec_request.h"

#include <optional>

namespace ew::server {

protocol::Confinement expected_confinement(const SandboxHost& host, const ExecPlan& plan,
                                           const ExtraPermissions& extra);

// Returns why the program cannot run; such a call asks no question. Returns nullopt if no reason is
// known.
std::optional<Error> hindrance(const SandboxHost& host, RemoteBackend& remote,
                               const ExecPlan& plan);

} // namespace ew::server
