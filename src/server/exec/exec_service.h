// The methods exec/*: commands for agents. A request begins a call, which waits for its environment
// if that is not connected (environment_queue), goes its way (calls), and runs programs (programs).
// What happened to processes and environments is brought to them here.
#pragma once

#include "base/clock.h"
#include "protocol/exec.h"
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
    static constexpr std::size_t most_calls = 256; // of exec/command, not answered

    explicit ExecService(const Calls::Parts& parts)
        : session_(parts.session),
          gate_(parts.gate),
          processes_(parts.processes),
          remote_(parts.remote),
          programs_(parts.processes, parts.records, parts.outbox),
          calls_(parts, programs_) {}

    void handle(Reply reply, protocol::ExecCommandParams params);
    void handle(Reply reply, const protocol::ExecWriteParams& params);
    void handle(Reply reply, const protocol::ExecTerminateAllParams& params);
    void handle(Reply reply, const protocol::ExecListParams& params);

    // How an answer to this call is to look.
    WaitTerms terms_of(const protocol::ExecCommandParams& params) const;

    // The request is answered with "cancelled". Returns false if it does not wait here.
    bool cancel(const json::Id& request);

    // Brings calls up to date with what happened to processes and environments.
    void on_news();

    void set_now(TimePoint now);
    void on_time();

    std::optional<TimePoint> next_deadline() { return programs_.next_deadline(); }

    // No environment will be connected any more.
    void refuse_queued(const Error& error) { queue_.fail_all(error); }

    bool has_ends_to_tell() { return programs_.has_ends_to_tell(); }

    // Answers every request that still waits: nothing will happen any more.
    void abandon(const Error& error);

private:
    Result<void> check(const protocol::ExecCommandParams& params) const;
    WaitTerms terms_of(const protocol::ExecWriteParams& params) const;
    void begin_here(Reply reply, protocol::ExecCommandParams params);
    void begin_there(QueuedCall call);
    void fail_call(Reply reply, const protocol::ExecCommandParams& params, const Error& error,
                   const std::optional<std::string>& environment) const;
    void look_at(Process& process);

    const Session& session_;
    Gate& gate_;
    ProcessService& processes_;
    RemoteBackend& remote_;
    Programs programs_;
    Calls calls_;
    EnvironmentQueue queue_;
};

} // namespace ew::server
