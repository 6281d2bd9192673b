// The methods patch/*: changes of several files, made together or not at all. A file process, in
// the sandbox that a command of the session would get, looks what a patch means; then it is decided
// whether a person is asked; a journal is written, and a file process makes the changes. What is
// approved is what was shown: the digests of all files go along.
//
//   checking ──▶ asking ──▶ noting ──▶ applying ──▶ tidying ──▶ answered
#pragma once

#include "base/clock.h"
#include "files/patch/held_journal.h"
#include "files/patch/patch_report.h"
#include "os/errand.h"
#include "os/poller.h"
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
#include "server/request/exec_request.h"
#include "server/session/session.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
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
    static constexpr std::size_t most_calls = 64;      // that are not answered
    static constexpr std::size_t most_remembered = 50; // files of a patch that is approved for more

    explicit PatchService(PatchParts parts)
        : Asker("patch", "the patch was not applied"), parts_(parts) {}

    void handle(Reply reply, protocol::PatchCheckParams params);
    void handle(Reply reply, protocol::PatchApplyParams params);

    // A command that is a patch (patch_in): the answer is that of a command that has ended.
    void handle(Reply reply, const protocol::ExecCommandParams& params, patch::PatchCall patch_call,
                const WaitTerms& terms);

    // What was interrupted when a server of the same user ended is finished or undone.
    void recover_left_over();

    // The request is answered with "cancelled", once all files are as they were. False: it does
    // not wait here.
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

    bool has_work() const { return !calls_.empty(); }

    std::vector<pid_t> errands() const;

    // No patch is begun any more.
    void refuse_all(const Error& error);
    // Answers whoever still waits: nothing will happen any more.
    void abandon(const Error& error);

private:
    enum class Stage : std::uint8_t { checking, asking, noting, applying, tidying };

    struct Call {
        Reply reply;
        bool is_check = false;
        std::optional<WaitTerms> command = {}; // it came as exec/command
        TimePoint began_at = {};
        protocol::PatchApplyParams params = {};
        std::string call_id = {};
        std::string workdir = {}; // absolute, symlinks resolved
        Stage stage = Stage::checking;
        std::optional<SandboxOrder> sandbox = {};
        files::PatchReport report = {};
        std::vector<protocol::PatchedFile> shown = {}; // the same for the client
        std::string decided_by = {};
        std::string rule = {};
        std::string token = {};
        std::optional<files::HeldJournal> journal = {}; // as long as the patch is under way
        std::string journal_text = {};
        bool is_settled = false; // FileService::PatchAnswer
        std::optional<os::Errand> errand = {};
        std::optional<TimePoint> asked_at = {};
        std::uint64_t approval_ms = 0;
        bool is_begun = false; // patch/begin has been sent
        std::optional<Error> failure = {};
    };

    struct Verdict {
        core::Decision decision = core::Decision::prompt;
        std::string reason = {};
        std::string decided_by = {};
        std::string rule = {};
    };

    void begin(Call call);
    void answer(Call& call) const;
    void answer_as_command(Call& call, const std::string& output, int exit_code) const;
    void refuse_call(Call& call, const Error& error) const;
    Result<ExecPlan> plan_for(const protocol::PatchApplyParams& params);
    void take_check(std::uint64_t serial, Call& call, Result<std::string> report);
    Verdict verdict_on(const Call& call);
    Verdict verdict_of_policy(std::string reason) const;
    std::string approved_before(const Call& call);
    static const files::PatchedFile* outside(const Call& call);
    void act_on(std::uint64_t serial, Call& call, const Verdict& verdict);

    void ask(std::uint64_t serial, Call& call, const std::string& reason);
    protocol::ApprovalRequest request_for(const Call& call, const std::string& reason) const;

    void note(std::uint64_t serial, Call& call);
    void apply(std::uint64_t serial, Call& call);
    void tidy(std::uint64_t serial, Call& call);
    static void conclude(Call& call, const std::string& message);
    void finish(std::uint64_t serial, Call& call);
    void fail(std::uint64_t serial, const Error& error);
    void end_errand(Call& call);
    Result<void> begin_errand(std::uint64_t serial, Call& call,
                              const std::function<std::string()>& body);
    void on_recovery();

    protocol::Confinement confinement_of(const Call& call) const;
    void audit(const Call& call, std::string_view event, std::string detail);
    Call* find(std::uint64_t serial);

    PatchParts parts_;
    TimePoint now_ = clock_now();
    std::map<std::uint64_t, Call> calls_; // by serial
    std::uint64_t last_serial_ = 0;
    std::optional<os::Errand> recovery_;
    std::optional<Error> ending_; // nothing is begun any more
};

// A line for each file: A, M, D or R, and its path; safe to show.
std::string summary_of(const files::PatchReport& report);

// The patch that a command is, if it is one and nothing else. Errors: see patch::recognise.
Result<std::optional<patch::PatchCall>> patch_in(const protocol::ExecCommandParams& params);

} // namespace ew::server
