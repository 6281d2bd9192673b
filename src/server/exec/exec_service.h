// The methods exec/*: commands for agents. A call goes through core/exec_call; this carries its
// effects out, and tells it what happened. Programs themselves are the process layer's.
#pragma once

#include "base/clock.h"
#include "core/exec_call.h"
#include "protocol/envelope.h"
#include "server/approval/gate.h"
#include "server/approval/questions.h"
#include "server/approval/records.h"
#include "server/confine/sandbox_host.h"
#include "server/connection/outbox.h"
#include "server/connection/reply.h"
#include "server/environment/remote_backend.h"
#include "server/exec/exec_process.h"
#include "server/process/process_service.h"
#include "server/request/exec_request.h"
#include "server/session/session.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace ew::server {

class ExecService final : public Asker {
public:
    static constexpr std::size_t most_calls = 256; // of exec/command, not answered
    static constexpr std::size_t most_waits = 8;   // of exec/writeStdin, on one process
    static constexpr std::size_t most_tries = 3;   // to connect an environment, for one call
    static constexpr std::uint64_t first_id = 1000;
    // What a descendant holds back is waited for: by an answer, and by exec/end.
    static constexpr Millis answer_grace{50};
    static constexpr Millis end_grace{100};

    struct Parts {
        const Session& session;
        Gate& gate;
        Records& records;
        Questions& questions;
        ProcessService& processes;
        SandboxHost& host;
        RemoteBackend& remote;
        Outbox& outbox;
    };

    explicit ExecService(const Parts& parts)
        : Asker("approval", "the command was not run"),
          session_(parts.session),
          gate_(parts.gate),
          records_(parts.records),
          questions_(parts.questions),
          processes_(parts.processes),
          host_(parts.host),
          remote_(parts.remote),
          outbox_(parts.outbox) {}

    void handle(Reply reply, protocol::ExecCommandParams params);
    void handle(Reply reply, const protocol::ExecWriteParams& params);
    void handle(Reply reply, const protocol::ExecTerminateAllParams& params);
    void handle(Reply reply, const protocol::ExecListParams& params);

    // How an answer to this call is to look.
    WaitTerms terms_of(const protocol::ExecCommandParams& params) const;

    // The request is answered with "cancelled". False: it does not wait here.
    bool cancel(const json::Id& id);

    // Asker
    void keep(const Question& question, const protocol::ApprovalAnswer& answer) override;
    void approve(const Question& question, const protocol::ApprovalAnswer& answer) override;
    void refuse(const Question& question, const Error& error) override;

    // Brings calls up to date with what happened to processes and environments.
    void on_news();

    void set_now(TimePoint now) { now_ = now; }

    void on_time();
    std::optional<TimePoint> next_deadline();

    // No environment will be connected any more.
    void refuse_all(const Error& error);

    // Has a program ended whose exec/end was not sent yet?
    bool has_ends_to_tell();

    // Answers whoever still waits: nothing will happen any more.
    void abandon(const Error& error);

private:
    struct Call {
        Reply reply;
        protocol::ExecCommandParams params;
        std::string call_id;
        ExecPlan plan;
        Gate::Ruling ruling;
        WaitTerms terms;
        core::exec_call::State state;
        std::optional<TimePoint> asked_at = {}; // a question is open, or was just answered
        std::uint64_t approval_ms = 0;
        std::uint64_t attempts = 0;
        std::uint64_t process = 0; // serial, of the last attempt that was begun; 0: none
        std::uint64_t first = 0;   // of the attempt that ran, while a second one is on its way
        // After a first attempt that was refused something: what would let it through, and which
        // earlier approval allows that.
        std::optional<sandbox::Additions> widening = {};
        std::string allowed_by = {};
    };

    // A call whose environment is being connected.
    struct WaitingCall {
        Reply reply;
        protocol::ExecCommandParams params;
        std::string environment;
        std::uint64_t connection = 0; // that it has waited for last
        std::size_t tries = 0;        // to connect it
    };

    // How a program is started.
    struct Attempt {
        std::string reason = {};
        std::string decided_by = {};
        std::optional<std::string> rule = {};
        ExtraPermissions extra = {};
        bool is_harmless = false;
    };

    using Event = core::exec_call::Event;
    using Step = core::exec_call::Step;

    // requests
    protocol::ExecProcessInfo info_of(Process& process);
    protocol::ExecCallInfo info_of(const Call& call);
    static protocol::ExecCallInfo info_of(const WaitingCall& call);

    // calls
    Result<void> check(const protocol::ExecCommandParams& params) const;
    void begin_there(WaitingCall call);
    void begin_call(Reply reply, protocol::ExecCommandParams params, ExecPlan plan);
    void begin_waiting(const RemoteBackend::News& news);
    // `environment`: where it was to run; absent: on this machine.
    void fail_call(Reply reply, const protocol::ExecCommandParams& params, const Error& error,
                   const std::optional<std::string>& environment) const;
    std::vector<WaitingCall> take_waiting(const RemoteBackend::News& news);
    core::exec_call::Verdict verdict_on(const Gate::Ruling& ruling, const ExecPlan& plan) const;
    std::optional<Error> hindrance(const ExecPlan& plan) const;
    sandbox::GuaranteeSet missing_for(const sandbox::Policy& policy) const;
    protocol::Confinement expected_confinement(const ExecPlan& plan,
                                               const ExtraPermissions& extra) const;
    WaitTerms terms_of(const protocol::ExecWriteParams& params) const;
    void deliver(std::uint64_t call, Event event);
    void work();
    void take(std::uint64_t serial, Call& call, const Step& step);

    // effects
    void carry_out(std::uint64_t serial, Call& call, const core::exec_call::effect::Ask&);
    void carry_out(std::uint64_t serial, Call& call, const core::exec_call::effect::AskToRetry&);
    void carry_out(std::uint64_t serial, Call& call,
                   const core::exec_call::effect::WithdrawQuestion&);
    void carry_out(std::uint64_t serial, Call& call, const core::exec_call::effect::Start& start);
    void carry_out(std::uint64_t serial, Call& call, const core::exec_call::effect::EndProgram&);
    void carry_out(std::uint64_t serial, Call& call,
                   const core::exec_call::effect::AnswerResult& answer);
    void carry_out(std::uint64_t serial, Call& call,
                   const core::exec_call::effect::AnswerRefused& refused);
    void carry_out(std::uint64_t serial, Call& call,
                   const core::exec_call::effect::AnswerFailed& failed);
    void carry_out(std::uint64_t serial, Call& call,
                   const core::exec_call::effect::AnswerCancelled& cancelled);

    // questions
    void ask(std::uint64_t serial, Call& call, protocol::ApprovalKind kind);
    protocol::ApprovalRequest request_for(const Call& call, protocol::ApprovalKind kind);
    void add_evidence(const Call& call, protocol::ApprovalRequest& request);
    std::string shared_key(const Call& call, protocol::ApprovalKind kind) const;

    // attempts
    static ExtraPermissions again(const Call& call, core::exec_call::Bounds bounds);
    Attempt attempt_for(const Call& call, core::exec_call::Bounds bounds, bool was_asked) const;
    std::unique_ptr<ExecProcess> record_of(std::uint64_t serial, const Call& call,
                                           const Attempt& attempt, const std::string& id) const;
    void drop_waits(Call& call);
    core::exec_call::event::Ended judge_end(const Process& process);

    // processes
    void look_at(Process& process);
    void audit_end(const Process& process);
    void tell_called_off(std::uint64_t call);
    void begin(Process& process);
    void check_waits(Process& process);
    void tell_call(Process& process);
    void finish(Process& process, ExecWait wait);
    void tell_interaction(const Process& process, const std::string& chars);
    void check_end(Process& process);
    Lane lane_of_end(const Process& process) const;
    bool can_send_end(const Process& process) const;
    std::optional<ExecWait> take_wait_of_call(Process& process);
    bool is_over(const Process& process) const;
    bool is_due(const Process& process, const ExecWait& wait) const;
    std::optional<TimePoint> quiet_at(const Process& process, const ExecWait& wait) const;
    Process* find_exec(const std::string& id, Reply& reply);
    std::string next_id();
    void audit(const Call& call, std::string_view event, std::string detail);
    void audit_start(const Call& call, const Attempt& attempt, const std::string& process);

    const Session& session_;
    Gate& gate_;
    Records& records_;
    Questions& questions_;
    ProcessService& processes_;
    SandboxHost& host_;
    RemoteBackend& remote_;
    Outbox& outbox_;
    TimePoint now_ = clock_now();
    std::vector<WaitingCall> waiting_;
    std::map<std::uint64_t, Call> calls_;             // by serial
    std::map<std::uint64_t, std::string> called_off_; // ids of calls whose start is, by serial
    std::uint64_t last_call_ = 0;
    std::uint64_t next_id_ = first_id;
    std::deque<std::pair<std::uint64_t, Event>> events_; // that effects have brought about
    bool is_working_ = false;
};

} // namespace ew::server
