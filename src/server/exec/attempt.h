// An attempt of a call to run its program: with what permissions, and who decided that.
#pragma once

#include "core/exec_call.h"
#include "protocol/exec.h"
#include "server/exec/call.h"
#include "server/exec/exec_process.h"
#include "server/process/process_service.h"
#include "server/request/extra_permissions.h"
#include "store/audit.h"

#include <memory>
#include <optional>
#include <string>

namespace ew::server {

struct Attempt {
    std::string reason = {};
    std::string decided_by = {};
    std::optional<std::string> rule = {};
    ExtraPermissions extra = {};
    bool is_harmless = false;
};

// The next attempt of a call. `was_asked`: a person has just approved it.
Attempt next_attempt(const Call& call, core::exec_call::Bounds bounds, bool was_asked);

// What a second attempt may do. It keeps what the call was granted.
ExtraPermissions extra_again(const Call& call, core::exec_call::Bounds bounds);

// What the attempt that was begun last needs to start, and what its process is known by.
ProcessService::Launch launch_of(const Call& call, const Attempt& attempt);
std::unique_ptr<ExecProcess> exec_process_of(const Call& call, const Attempt& attempt,
                                             const std::string& process_id);
protocol::ExecAttemptEvent attempt_event(const Call& call, const Attempt& attempt,
                                         protocol::SandboxType expected);
store::AuditRow start_row(const Call& call, const Attempt& attempt, const std::string& process_id,
                          const protocol::Confinement& expected);

} // namespace ew::server
