// The methods patch/*: changes of several files, made together or not at all. The way of a patch is
// in core/patch_call; here is done what it says: file processes check and apply, in the sandbox
// that a command of the session would get; a person is asked; a journal is kept. What is approved
// is what was shown: the digests of all files go along.
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
};

class PatchService final : public Asker {
public:
    static constexpr std::size_t most_calls = 64; // that are not answered

    explicit PatchService(PatchParts parts)
        : Asker("patch", "the patch was not applied"), parts_(parts) {}

    void handle(Reply reply, protocol::PatchCheckParams params);
    void handle(Reply reply, protocol::PatchApplyParams params);

    // A command that is a patch (patch_in): the answer is that of a command that has ended.
    void handle(Reply reply, const protocol::ExecCommandParams& params, patch::PatchCall patch_call,
                const WaitTerms& terms);

    // What was interrupted when a server of the same user ended is finished or undone.
    void recover_left_over();

    // The request is answered with "cancelled", once all files are as they were. Returns false if
    // it does not wait here.
    bool cancel(const json::Id& id);

    // Asker
    void keep(const Question& question, const protocol::ApprovalAnswer& answer) override;
    void approve(const Question& question, const protocol::ApprovalAnswer& answer) override;
    void refuse(const Question& question, const Error& error) override;

    // Takes what file processes have found out. Once a turn of the loop, after they had theirs.
    void on_news();

    // The poller reports an errand. Serial 0: of recover_left_over().
    void on_errand(std::uint64_t serial);

    void set_now(TimePoint now) { now_ = now; }

    void on_time();
    std::optional<TimePoint> next_deadline() const;

    bool has_work() const { return !patches_.empty(); }

    std::vector<pid_t> errands() const;

    // No patch is begun any more.
    void refuse_all(const Error& error);
    // Answers all requests that still wait: nothing will happen any more.
    void abandon(const Error& error);

private:
    using Event = core::patch_call::Event;
    using News = std::optional<Event>; // that an effect had at once

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
    TimePoint now_ = clock_now();
    std::map<std::uint64_t, PendingPatch> patches_; // by serial
    std::uint64_t last_serial_ = 0;
    std::optional<os::WatchedErrand> recovery_; // of what was left over
    std::optional<Error> ending_;               // nothing is begun any more
};

// The patch that a command is, if it is one and nothing else. Errors: see patch::recognise.
Result<std::optional<patch::PatchCall>> patch_in(const protocol::ExecCommandParams& params);

} // namespace ew::server
