// The calls of exec/command that are not answered. Each is a core/exec_call: this class brings it
// events, carries out its effects, and asks a person for it. Programs are started and found by
// their serial number.
#pragma once

#include "base/clock.h"
#include "core/exec_call.h"
#include "json/types.h"
#include "protocol/exec.h"
#include "protocol/exec_list.h"
#include "server/approval/gate.h"
#include "server/approval/questions.h"
#include "server/approval/records.h"
#include "server/confine/sandbox_host.h"
#include "server/connection/outbox.h"
#include "server/environment/remote_backend.h"
#include "server/exec/attempt.h"
#include "server/exec/call.h"
#include "server/exec/call_judge.h"
#include "server/exec/host_questions.h"
#include "server/exec/programs.h"
#include "server/process/process_service.h"
#include "server/session/environment_choice.h"
#include "server/session/session.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::server {

class Calls final : public Asker {
public:
    static constexpr std::uint64_t first_id = 1000; // first process id

    struct Parts {
        const Session& session;
        Gate& gate;
        Records& records;
        Questions& questions;
        ProcessService& processes;
        SandboxHost& host;
        RemoteBackend& remote;
        Outbox& outbox;
        HostQuestions& hosts;
        const TimePoint& now; // of the turn; the worker owns it
    };

    Calls(const Parts& parts, Programs& programs)
        : Asker("approval", "the command was not run"),
          parts_(parts),
          judge_({parts.session, parts.gate, parts.host, parts.remote, parts.now}),
          programs_(programs),
          now_(parts.now) {}

    // Judges the command, then runs it, asks a person, or refuses it.
    void begin(Reply reply, protocol::ExecCommandParams params, ExecPlan plan,
               const WaitTerms& terms);

    std::size_t size() const { return calls_.size(); }

    // The program of a call runs now. The call waits for it, unless it was cancelled.
    void on_started(Process& process);

    // The wait for the program is over: the program has ended, or the time limit has passed.
    void on_wait_over(Process& process);

    void on_failed_start(const ProcessService::FailedStart& failed);

    // Returns the process of the call of this request, or null if it has none.
    Process* process_of(const json::Id& request);

    // Returns false if no call has this request.
    bool cancel(const json::Id& request);

    void list(const EnvironmentFilter& filter, std::vector<protocol::ExecCallInfo>& infos) const;

    // Answers every call with `error`. No events follow.
    void abandon(const Error& error);

    // Implements Asker.
    std::int64_t keep(const Question& question, const protocol::ApprovalAnswer& answer) override;
    void approve(const Question& question, const protocol::ApprovalAnswer& answer) override;
    void edit(const Question& question, const protocol::ApprovalAnswer& answer) override;
    void refuse(const Question& question, const Error& error) override;

private:
    using Event = core::exec_call::Event;

    // A call while its effects are carried out.
    struct Turn {
        std::uint64_t serial = 0;
        Call& call;
    };

    void deliver(std::uint64_t serial, Event event);
    void work();
    void take(Turn turn, const core::exec_call::Step& step);

    // Carry out one effect each.
    void carry_out(Turn turn, const core::exec_call::effect::Ask& ask);
    void carry_out(Turn turn, const core::exec_call::effect::AskToRetry& ask);
    void carry_out(Turn turn, const core::exec_call::effect::WithdrawQuestion& withdraw);
    void carry_out(Turn turn, const core::exec_call::effect::Start& start);
    void carry_out(Turn turn, const core::exec_call::effect::EndProgram& end);
    void carry_out(Turn turn, const core::exec_call::effect::AnswerResult& answer);
    void carry_out(Turn turn, const core::exec_call::effect::AnswerRefused& refused);
    void carry_out(Turn turn, const core::exec_call::effect::AnswerFailed& failed);
    void carry_out(Turn turn, const core::exec_call::effect::AnswerCancelled& cancelled);

    void ask(Turn turn, Question question);
    Result<Process*> launch(Turn turn, const Attempt& attempt);
    void audit(const Call& call, std::string_view event, std::string detail);

    Parts parts_;
    CallJudge judge_;
    Programs& programs_;
    const TimePoint& now_;
    std::map<std::uint64_t, Call> calls_;             // by serial number
    std::map<std::uint64_t, std::string> called_off_; // call ids of starts, by serial number
    std::uint64_t last_call_ = 0;
    std::uint64_t next_id_ = first_id;
    std::deque<std::pair<std::uint64_t, Event>> events_; // caused by effects
    bool is_working_ = false;
};

} // namespace ew::server
