// What will confine a program, as far as it can be told before its start.
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

// Why the program cannot be run: nobody is asked about that. Returns nullopt if nothing is known
// against it.
std::optional<Error> hindrance(const SandboxHost& host, RemoteBackend& remote,
                               const ExecPlan& plan);

} // namespace ew::server
