// Judges the calls of exec/command: whether the command runs, a person is asked or it is refused,
// also when a person has edited it; and, at the end of its program, whether it may run again.
#pragma once

#include "base/clock.h"
#include "core/exec_call.h"
#include "protocol/approval.h"
#include "server/approval/gate.h"
#include "server/confine/sandbox_host.h"
#include "server/environment/remote_backend.h"
#include "server/exec/call.h"
#include "server/process/process.h"
#include "server/session/session.h"

namespace ew::server {

class CallJudge {
public:
    struct Parts {
        const Session& session;
        Gate& gate;
        SandboxHost& host;
        RemoteBackend& remote;
        const TimePoint& now; // of the turn; the worker owns it
    };

    explicit CallJudge(const Parts& parts) : parts_(parts) {}

    // Keeps the ruling in the call.
    core::exec_call::Verdict judge(Call& call);

    // Replaces the command of the call by that of the answer, and judges it as if the client had
    // sent it.
    core::exec_call::Verdict judge_edited(Call& call, const protocol::ApprovalAnswer& answer);

    // The program of the call has ended. Keeps in the call what decides about a second attempt, and
    // with what it would be made.
    core::exec_call::event::Ended judge_end(Call& call, const Process& process);

private:
    Parts parts_;
};

} // namespace ew::server
