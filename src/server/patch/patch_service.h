// The methods patch/*: changes of several files, all of them or none. core/patch_call decides the
// steps of a patch. This class carries them out: file processes check and apply the patch in the
// sandbox that a command of the session would get, a person is asked, and a journal is kept. An
// approval covers exactly what was shown: the digests of all files are part of the request to apply
// it.
#pragma once

#include "base/clock.h"
#include "core/patch_call.h"
#include "os/poller.h"
#include "os/watched_errand.h"
#include "patch/recognise.h"
#include "protocol/envelope.h"
#include "protocol/patch.h"
#include "server/approval/gate.h"
#include "server/approval/questions.h"
#include "server/approval/records.h"
#include "server/connection/outbox.h"
#include "server/connection/reply.h"
#include "server/exec/wait_terms.h"
#include "server/fs/file_service.h"
#include "server/patch/pending_patch.h"
#include "server/request/exec_request.h"
#include "server/session/session.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::server {

struct PatchParts {
    const Session& session;
    Gate& gate;
    Records& records;
    Questions& questions;
    FileService& files;
    Outbox& outbox;
    os::Poller& poller;
    const TimePoint& now; // of the turn; the worker owns it
};

class PatchService final : public Asker {
public:
    static constexpr std::size_t most_calls = 64; // unanswered calls

    explicit PatchService(PatchParts parts)
        : Asker("patch", "the patch was not applied"), parts_(parts), now_(parts.now) {}

    void handle(Reply reply, protocol::PatchCheckParams params);
    void handle(Reply reply, protocol::PatchApplyParams params);

    // Serves a command that is a patch (see patch_in). The answer is that of a command that has
    // ended.
    void handle(Reply reply, const protocol::ExecCommandParams& params, patch::PatchCall patch_call,
                const WaitTerms& terms);

    // Finishes or undoes patches that were interrupted when a server of the same user ended.
    void recover_left_over();

    // Answers the request with "cancelled" once all files are as they were. Returns false if it
    // does not wait here.
    bool cancel(const json::Id& id);

    // Implements Asker.
    std::int64_t keep(const Question& question, const protocol::ApprovalAnswer& answer) override;
    void approve(const Question& question, const protocol::ApprovalAnswer& answer) override;
    void edit(const Question& question, const protocol::ApprovalAnswer& answer) override;
    void refuse(const Question& question, const Error& error) override;

    // Takes the reports of file processes. The loop calls this once a turn, after FileService.
    void on_news();

    // The poller reports an errand. Serial number 0 is the errand of recover_left_over().
    void on_errand(std::uint64_t serial);

    void on_time();
    std::optional<TimePoint> next_deadline() const;

    bool has_work() const { return !patches_.empty(); }

    std::vector<pid_t> errands() const;

    // Begins no patch from now on.
    void refuse_all(const Error& error);
    // Answers every waiting request with `error`. No events follow.
    void abandon(const Error& error);

private:
    using Event = core::patch_call::Event;
    using News = std::optional<Event>; // an event that an effect causes at once

    void begin(PendingPatch patch);
    Event checked(PendingPatch& patch, Result<std::string>& report);

    PendingPatch* find(std::uint64_t serial);
    void deliver(std::uint64_t serial, Event event);
    void deliver_to_all(const Event& event);
    News follow(std::uint64_t serial, PendingPatch& patch, core::patch_call::Step step);

    News carry_out(std::uint64_t serial, PendingPatch& patch,
                   const core::patch_call::effect::Check&);
    News carry_out(std::uint64_t serial, PendingPatch& patch,
                   const core::patch_call::effect::CallOff&);
    News carry_out(std::uint64_t serial, PendingPatch& patch, const core::patch_call::effect::Ask&);
    News carry_out(std::uint64_t serial, PendingPatch& patch,
                   const core::patch_call::effect::WithdrawQuestion&);
    News carry_out(std::uint64_t serial, PendingPatch& patch,
                   const core::patch_call::effect::Note&);
    News carry_out(std::uint64_t serial, PendingPatch& patch,
                   const core::patch_call::effect::Apply&);
    News carry_out(std::uint64_t serial, PendingPatch& patch,
                   const core::patch_call::effect::Settle&);
    News carry_out(std::uint64_t serial, PendingPatch& patch,
                   const core::patch_call::effect::RemoveJournal&);
    News carry_out(std::uint64_t serial, PendingPatch& patch,
                   const core::patch_call::effect::AnswerChecked&);
    News carry_out(std::uint64_t serial, PendingPatch& patch,
                   const core::patch_call::effect::AnswerApplied&);
    News carry_out(std::uint64_t serial, PendingPatch& patch,
                   const core::patch_call::effect::AnswerFailed& failed);

    void audit(const PendingPatch& patch, std::string_view event, std::string detail);

    PatchParts parts_;
    const TimePoint& now_;
    std::map<std::uint64_t, PendingPatch> patches_; // by serial number
    std::uint64_t last_serial_ = 0;
    std::optional<os::WatchedErrand> recovery_; // the errand of recover_left_over()
    std::optional<Error> ending_;               // set: no patch begins any more
};

// Returns the patch if the command is exactly one patch, nullopt if it is not. Errors: those of
// patch::recognise.
Result<std::optional<patch::PatchCall>> patch_in(const protocol::ExecCommandParams& params);

} // namespace ew::server
