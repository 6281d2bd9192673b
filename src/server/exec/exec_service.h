// The methods exec/*: commands for agents. EnvironmentQueue holds a call until its environment is
// connected, Calls takes it to its answer, and Programs runs its program. on_news() updates all
// three when processes or environments change.
#pragma once

#include "base/clock.h"
#include "protocol/exec.h"
#include "protocol/exec_list.h"
#include "server/connection/reply.h"
#include "server/environment/remote_backend.h"
#include "server/exec/calls.h"
#include "server/exec/environment_queue.h"
#include "server/exec/programs.h"
#include "server/process/process_service.h"
#include "server/session/session.h"

#include <cstddef>
#include <optional>
#include <string>

namespace ew::server {

class ExecService {
public:
    static constexpr std::size_t most_calls = 256; // unanswered calls of exec/command

    // `hosts` outlives the service.
    explicit ExecService(const Calls::Parts& parts)
        : session_(parts.session),
          gate_(parts.gate),
          processes_(parts.processes),
          remote_(parts.remote),
          hosts_(parts.hosts),
          programs_(parts.processes, parts.records, parts.outbox, parts.now,
                    parts.session.wants_input_state()),
          calls_(parts, programs_) {}

    void handle(Reply reply, protocol::ExecCommandParams params);
    void handle(Reply reply, const protocol::ExecWriteParams& params);
    void handle(Reply reply, const protocol::ExecWaitParams& params);
    void handle(Reply reply, const protocol::ExecTerminateAllParams& params);
    void handle(Reply reply, const protocol::ExecListParams& params);

    // Returns the form of the answer to this call, and its time limits.
    WaitTerms terms_of(const protocol::ExecCommandParams& params) const;

    // Answers the request with "cancelled". Returns false if it does not wait here.
    bool cancel(const json::Id& request);

    // Updates calls after changes of processes and environments, and withdraws the questions of all
    // processes that have ended. To be called in each turn.
    void on_news();
    void on_time();

    std::optional<TimePoint> next_deadline() { return programs_.next_deadline(); }

    // No environment will be connected from now on.
    void refuse_queued(const Error& error) { queue_.fail_all(error); }

    bool has_ends_to_tell() { return programs_.has_ends_to_tell(); }

    // Answers every waiting request with `error`. No events follow.
    void abandon(const Error& error);

private:
    Result<void> check(const protocol::ExecCommandParams& params) const;
    WaitTerms terms_of(const protocol::ExecWriteParams& params) const;
    WaitTerms terms_of(const protocol::ExecWaitParams& params) const;
    void begin_here(Reply reply, protocol::ExecCommandParams params);
    void begin_there(QueuedCall call);
    void fail_call(Reply reply, const protocol::ExecCommandParams& params, const Error& error,
                   const std::optional<std::string>& environment) const;
    void look_at(Process& process);

    const Session& session_;
    Gate& gate_;
    ProcessService& processes_;
    RemoteBackend& remote_;
    HostQuestions& hosts_;
    Programs programs_;
    Calls calls_;
    EnvironmentQueue queue_;
};

} // namespace ew::server
