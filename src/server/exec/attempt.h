// An attempt of a call to run its program: its permissions, and the source of the decision.
#pragma once

#include "core/exec_call.h"
#include "protocol/exec_events.h"
#include "sandbox/gateway/host_use.h"
#include "server/approval/host_gate.h"
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
    core::Hardening hardening = core::Hardening::none;
};

Attempt first_attempt(const JudgedCall& call, bool was_asked);

// Returns the next attempt of a call. `was_asked` says that a person has just approved it.
Attempt next_attempt(const Call& call, core::exec_call::Bounds bounds, bool was_asked);

// Returns the permissions of a second attempt. They include those that the call was granted.
ExtraPermissions extra_again(const Call& call, core::exec_call::Bounds bounds);

// These describe the attempt that was begun last: its start, its process, its event and its audit
// row.
ProcessService::Launch launch_of(const Call& call, const Attempt& attempt);
std::unique_ptr<ExecProcess> exec_process_of(const Call& call, const Attempt& attempt,
                                             const std::string& process_id);
HostCommand host_command(const JudgedCall& call, const ApprovalExtent& extent);
protocol::ExecBeginEvent begin_event(const JudgedCall& call, const Attempt& attempt,
                                     const std::string& process_id);
protocol::ExecAttemptEvent attempt_event(const Call& call, const Attempt& attempt,
                                         protocol::SandboxType expected);
store::AuditRow start_row(const JudgedCall& call, const Attempt& attempt,
                          const std::string& process_id, const protocol::Confinement& expected);

store::AuditRow denial_row(const protocol::ExecBeginEvent& begin, std::uint64_t count,
                           const std::vector<protocol::Denial>& denials);

// One row for each host and port that a command has reached by its network by host.
// A host that a command has reached.
store::AuditRow host_row(const std::string& call_id, const std::vector<std::string>& argv,
                         const std::string& workdir, const sandbox::HostUse& use);

// How a program ended. `failure`: what its sandbox has left could not be looked at, or the like.
struct ProgramEnd {
    std::int64_t code = 0;
    std::uint64_t wall_ms = 0;
    std::optional<Error> failure = {};
    std::optional<std::uint64_t> peak_rss_bytes = {}; // as in Usage
};

store::AuditRow exit_row(const protocol::ExecBeginEvent& begin, const ProgramEnd& end);

} // namespace ew::server
