// The way of a patch, from its request to its answer. What is asked is in patch_questions.
#include "server/patch/patch_service.h"

#include "base/log.h"
#include "core/text/paths.h"
#include "files/patch/held_journal.h"
#include "files/patch/patch_journal.h"
#include "files/patch/patching.h"
#include "patch/parse.h"
#include "sandbox/policy/policy.h"
#include "server/connection/notify.h"
#include "server/connection/source.h"
#include "server/exec/exec_results.h"
#include "server/request/sandbox_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace ew::server {

namespace {

constexpr Millis journal_time{15'000};  // to write one
constexpr Millis recovery_time{60'000}; // to undo or finish what a patch has begun
constexpr std::string_view good = "done";
constexpr std::string_view undone = "undone";
constexpr std::string_view settled = "settled"; // before

// Takes what only the client gets.
protocol::PatchedFile shown(files::PatchedFile& file) {
    protocol::PatchedFile result;
    result.path = file.path;
    result.change = static_cast<protocol::PatchChange>(file.kind);
    if (!file.destination.empty()) result.destination = file.destination;
    result.added_lines = file.added;
    result.removed_lines = file.removed;
    for (const patch::ChunkMatch& match : file.matches)
        result.matches.push_back({match.line, static_cast<protocol::PatchLevel>(match.level)});
    result.diff = std::move(file.diff);
    return result;
}

Error no_journal(const Error& why) {
    return {ErrorKind::store_unavailable,
            fmt::format("the patch was not applied: no journal can be kept: {}", why.message),
            "make room in the state directory, and let it be written; see execward doctor"};
}

// In a process of its own. What is not `good`, all files are as after the patch, or `undone`, as
// before it, is a message.
std::string undo_or_finish(const files::HeldJournal& journal, const std::string& text) {
    files::RecoveryReport report;
    if (files::Failure failure = files::recover_patch(text, report)) return failure->message;
    journal.remove();
    bool is_finished = true;
    for (const files::RecoveredFile& file : report.files) {
        if (file.outcome == files::Recovery::left_alone)
            return fmt::format("'{}' was changed by somebody else and is left as it is", file.path);
        is_finished = is_finished && file.outcome == files::Recovery::finished;
    }
    return std::string(is_finished && !report.files.empty() ? good : undone);
}

} // namespace

PatchService::Call* PatchService::find(std::uint64_t serial) {
    const auto found = calls_.find(serial);
    return found == calls_.end() ? nullptr : &found->second;
}

void PatchService::audit(const Call& call, std::string_view event, std::string detail) {
    store::AuditRow row;
    row.call = call.call_id;
    row.event = event;
    row.argv = R"(["apply_patch"])";
    row.directory = call.workdir;
    row.decided_by = call.decided_by;
    row.rule = call.rule;
    row.detail = std::move(detail);
    parts_.records.audit(std::move(row));
}

protocol::Confinement PatchService::confinement_of(const Call& call) const {
    protocol::Confinement confinement;
    if (call.sandbox) confinement.type = protocol::SandboxType::linux_seccomp;
    return confinement;
}

// ---------------------------------------------------------------- looking

void PatchService::handle(Reply reply, protocol::PatchCheckParams params) {
    Call call = {std::move(reply)};
    call.is_check = true;
    call.params.patch = std::move(params.patch);
    call.params.workdir = std::move(params.workdir);
    begin(std::move(call));
}

void PatchService::handle(Reply reply, protocol::PatchApplyParams params) {
    Call call = {std::move(reply)};
    call.params = std::move(params);
    begin(std::move(call));
}

void PatchService::handle(Reply reply, const protocol::ExecCommandParams& params,
                          patch::PatchCall patch_call, const WaitTerms& terms) {
    Call call = {std::move(reply)};
    call.command = terms;
    call.params.patch = std::move(patch_call.patch);
    call.params.workdir = params.workdir;
    if (!patch_call.directory.empty())
        call.params.workdir =
            patch_call.directory.starts_with('/') || !params.workdir || params.workdir->empty()
                ? patch_call.directory
                : core::joined(*params.workdir, patch_call.directory);
    call.params.justification = params.justification;
    call.params.call_id = params.call_id;
    begin(std::move(call));
}

Result<std::optional<patch::PatchCall>> patch_in(const protocol::ExecCommandParams& params) {
    if (params.argv) return patch::recognise(*params.argv);
    if (params.command) return patch::recognise({"sh", "-c", *params.command});
    return std::optional<patch::PatchCall>();
}

// For its directory and its confinement; nothing is run.
Result<ExecPlan> PatchService::plan_for(const protocol::PatchApplyParams& params) {
    protocol::ExecCommandParams command;
    command.argv = {"apply_patch"};
    command.workdir = params.workdir;
    const Session& session = parts_.session;
    return plan_exec(command, {session.settings(), parts_.gate.login_shell(), session.tag(),
                               hidden_places(session.setup().paths, session.database())});
}

void PatchService::begin(Call call) {
    if (calls_.size() >= most_calls)
        return call.reply.fail({ErrorKind::limit,
                                fmt::format("{} patches wait for their answer already", most_calls),
                                "wait for answers, or cancel calls"});
    if (call.params.patch.size() > patch::longest_patch)
        return call.reply.fail({ErrorKind::limit,
                                fmt::format("a patch has at most {} bytes", patch::longest_patch),
                                "send several"});
    Result<ExecPlan> plan = plan_for(call.params);
    if (!plan) return call.reply.fail(plan.error());
    if (Result<void> allowed = parts_.files.allows(plan->policy.has_value()); !allowed)
        return call.reply.fail(allowed.error());
    const std::uint64_t serial = ++last_serial_;
    call.began_at = now_;
    call.call_id = call.params.call_id.value_or(call.reply.call_id());
    call.workdir = std::move(plan->workdir);
    if (plan->policy) {
        call.sandbox = SandboxOrder{std::move(*plan->policy), std::move(plan->context)};
        fit_for_files(call.sandbox->policy);
    }
    files::Request request;
    request.verb = files::Verb::patch_check;
    request.path = call.workdir;
    request.data = call.params.patch;
    parts_.files.begin_for(serial, std::move(request), call.sandbox);
    calls_.emplace(serial, std::move(call));
}

void PatchService::on_news() {
    for (FileService::PatchAnswer& answer : parts_.files.take_reports()) {
        Call* const call = find(answer.patch);
        if (call == nullptr) continue;
        if (call->stage == Stage::checking) {
            take_check(answer.patch, *call, std::move(answer.report));
        } else if (call->stage == Stage::applying) {
            if (answer.report)
                call->failure.reset(); // it was too late to cancel it
            else if (!call->failure)
                call->failure = answer.report.error();
            call->is_settled = answer.is_settled;
            tidy(answer.patch, *call);
        }
    }
}

void PatchService::take_check(std::uint64_t serial, Call& call, Result<std::string> report) {
    if (call.failure) return fail(serial, *call.failure);
    if (!report) return fail(serial, report.error());
    std::optional<files::PatchReport> decoded = files::decode_report(*report);
    if (!decoded)
        return fail(serial, {ErrorKind::internal, "the report on the patch could not be read"});
    call.report = std::move(*decoded);
    for (files::PatchedFile& file : call.report.files)
        call.shown.push_back(shown(file));
    const Verdict verdict = verdict_on(call);
    if (!call.is_check) return act_on(serial, call, verdict);
    protocol::PatchCheckResult result;
    result.files = std::move(call.shown);
    result.decision = verdict.decision;
    result.reason = verdict.reason;
    result.sandbox = confinement_of(call);
    call.reply.send(result);
    calls_.erase(serial);
}

// ---------------------------------------------------------------- changing

Result<void> PatchService::begin_errand(std::uint64_t serial, Call& call,
                                        const std::function<std::string()>& body) {
    const Millis time = call.stage == Stage::tidying ? recovery_time : journal_time;
    call.errand = TRY(os::Errand::begin(body, call.journal->descriptors(), now_ + time));
    (void)parts_.poller.watch(call.errand->fd(), token_of(Source::patch, serial),
                              os::Interest::read);
    return {};
}

void PatchService::end_errand(Call& call) {
    if (!call.errand) return;
    parts_.poller.unwatch(call.errand->fd());
    call.errand.reset();
}

void PatchService::note(std::uint64_t serial, Call& call) {
    if (ending_) return fail(serial, *ending_);
    call.stage = Stage::noting;
    call.token = files::new_token();
    call.journal_text = encode(files::journal_of(call.report, call.token));
    Result<files::HeldJournal> journal =
        files::HeldJournal::begin(parts_.session.setup().paths.state_directory, call.token);
    if (!journal) return fail(serial, no_journal(journal.error()));
    call.journal = std::move(*journal);
    const auto body = [&call] {
        Result<void> written = call.journal->finish(call.journal_text);
        return written ? std::string(good) : written.error().message;
    };
    Result<void> begun = begin_errand(serial, call, body);
    if (begun) return;
    call.failure = no_journal(begun.error());
    call.journal->remove();
    finish(serial, call);
}

void PatchService::apply(std::uint64_t serial, Call& call) {
    call.stage = Stage::applying;
    call.is_begun = true;
    notify(parts_.outbox, "patch/begin",
           protocol::PatchBeginEvent{call.call_id, call.workdir, call.decided_by, call.shown});
    audit(call, "start", fmt::format("{} files", call.report.files.size()));
    files::Request request;
    request.verb = files::Verb::patch_apply;
    request.path = call.workdir;
    request.data = call.params.patch;
    request.token = call.token;
    request.expected = call.report.digest;
    parts_.files.begin_for(serial, std::move(request), call.sandbox);
}

// A file process that has answered has undone what it did, or has done all. If it was ended, the
// journal and what is there tell what became of the patch.
void PatchService::tidy(std::uint64_t serial, Call& call) {
    const bool is_settled = call.is_settled || call.stage != Stage::applying;
    call.stage = Stage::tidying;
    const auto body = [&call, is_settled] {
        if (!is_settled) return undo_or_finish(*call.journal, call.journal_text);
        call.journal->remove();
        return std::string(settled);
    };
    if (begin_errand(serial, call, body)) return;
    if (is_settled)
        call.journal->remove();
    else
        conclude(call, "no process could be started");
    finish(serial, call);
}

void PatchService::on_recovery() {
    if (!recovery_) return;
    if (!recovery_->take_result() && recovery_->deadline() > now_) return;
    parts_.poller.unwatch(recovery_->fd());
    recovery_.reset();
}

void PatchService::on_errand(std::uint64_t serial) {
    if (serial == 0) return on_recovery();
    Call* const call = find(serial);
    if (call == nullptr || !call->errand) return;
    const bool is_late = call->errand->deadline() <= now_;
    const std::optional<std::string> result = call->errand->take_result();
    if (!result && !is_late) return;
    end_errand(*call);
    const std::string message = result ? *result : "it took too long";
    if (call->stage == Stage::noting) {
        if (message == good && !call->failure) return apply(serial, *call);
        if (!call->failure) call->failure = no_journal({ErrorKind::store_unavailable, message});
        return tidy(serial, *call);
    }
    conclude(*call, message);
    finish(serial, *call);
}

void PatchService::answer(Call& call) const {
    if (call.command)
        return answer_as_command(call, "The patch was applied:\n" + summary_of(call.report) + "\n",
                                 0);
    protocol::PatchApplyResult result;
    result.call_id = call.call_id;
    result.files = std::move(call.shown);
    result.decided_by = call.decided_by;
    result.sandbox = confinement_of(call);
    result.approval_ms = call.approval_ms;
    call.reply.send(result);
}

void PatchService::answer_as_command(Call& call, const std::string& output, int exit_code) const {
    const TimePoint::duration wall = now_ - call.began_at;
    protocol::ExecResult result = make_answer(call.call_id, output, exit_code, *call.command);
    result.wall_time_ms = millis(wall);
    result.timings.approval_ms = call.approval_ms;
    result.sandbox = confinement_of(call);
    result.notice = "it was applied as a patch, and no shell was run; patch/apply does the same";
    add_model_text(result, *call.command, wall);
    call.reply.send(result);
}

// What a program would print and end with is an answer; that it did not come to that is an error.
void PatchService::refuse_call(Call& call, const Error& error) const {
    const bool is_error = error.kind == ErrorKind::denied || error.kind == ErrorKind::cancelled ||
                          error.kind == ErrorKind::shutting_down ||
                          error.kind == ErrorKind::sandbox_unavailable;
    if (!call.command || is_error) return call.reply.fail(error);
    const std::string hint = error.hint.empty() ? "" : fmt::format("\n{}", error.hint);
    answer_as_command(call, fmt::format("The patch was not applied: {}{}\n", error.message, hint),
                      1);
}

// What the journal's errand found decides, if the process that applied the patch was ended.
void PatchService::conclude(Call& call, const std::string& message) {
    if (message == settled) return;
    if (message == good) return call.failure.reset();
    if (!call.failure) call.failure = {ErrorKind::io_failed, "the patch was interrupted"};
    if (message == undone) {
        call.failure->message += "; no file was changed";
        return;
    }
    log::warning("patch", "{}: {}", call.call_id, message);
    call.failure->message += fmt::format("; some files may be changed and others not: {}", message);
    call.failure->hint = "execward patch recover finishes or undoes it";
}

void PatchService::finish(std::uint64_t serial, Call& call) {
    if (call.failure) return fail(serial, *call.failure);
    notify(parts_.outbox, "patch/end",
           protocol::PatchEndEvent{call.call_id, protocol::PatchOutcome::applied, {}});
    audit(call, "end", "applied");
    answer(call);
    calls_.erase(serial);
}

void PatchService::fail(std::uint64_t serial, const Error& error) {
    Call* const call = find(serial);
    if (call == nullptr) return;
    if (call->is_begun)
        notify(
            parts_.outbox, "patch/end",
            protocol::PatchEndEvent{call->call_id, protocol::PatchOutcome::failed, error.message});
    if (!call->is_check) audit(*call, "failure", error.message);
    end_errand(*call);
    refuse_call(*call, error);
    calls_.erase(serial);
}

void PatchService::recover_left_over() {
    if (parts_.session.setup().paths.state_directory.empty()) return;
    Result<os::Errand> errand = os::Errand::begin(
        [state = parts_.session.setup().paths.state_directory] {
            (void)files::recover_left_over(
                state); // what it tells, the journal that stays tells again
            return std::string(good);
        },
        {}, now_ + recovery_time);
    if (!errand) return log::warning("patch", "{}", errand.error().message);
    recovery_ = std::move(*errand);
    (void)parts_.poller.watch(recovery_->fd(), token_of(Source::patch), os::Interest::read);
}

// ---------------------------------------------------------------- ends

bool PatchService::cancel(const json::Id& id) {
    const auto found = std::ranges::find_if(
        calls_, [&id](const auto& entry) { return entry.second.reply.id() == id; });
    if (found == calls_.end()) return false;
    const auto& [serial, ignored] = *found;
    Call& call = found->second;
    Error cancelled = {ErrorKind::cancelled, "the patch was cancelled"};
    if (call.stage != Stage::applying) cancelled.message += "; no file was changed";
    switch (call.stage) {
    case Stage::checking:
        call.failure = cancelled;
        parts_.files.call_off_patch(serial);
        break;
    case Stage::asking:
        parts_.questions.leave(*this, serial);
        fail(serial, cancelled);
        break;
    case Stage::noting: call.failure = cancelled; break;
    case Stage::applying:
        call.failure = cancelled;
        parts_.files.call_off_patch(serial);
        break;
    case Stage::tidying: break; // it is all done, or undone
    }
    return true;
}

void PatchService::on_time() {
    std::vector<std::uint64_t> late;
    for (const auto& [serial, call] : calls_)
        if (call.errand && call.errand->deadline() <= now_) late.push_back(serial);
    for (const std::uint64_t serial : late)
        on_errand(serial);
    if (recovery_ && recovery_->deadline() <= now_) on_recovery();
}

std::optional<TimePoint> PatchService::next_deadline() const {
    std::optional<TimePoint> next;
    if (recovery_) next = earlier(next, recovery_->deadline());
    for (const auto& entry : calls_)
        if (entry.second.errand) next = earlier(next, entry.second.errand->deadline());
    return next;
}

void PatchService::refuse_all(const Error& error) {
    ending_ = error;
}

std::vector<pid_t> PatchService::errands() const {
    std::vector<pid_t> pids;
    for (const auto& entry : calls_)
        if (entry.second.errand) pids.push_back(entry.second.errand->pid());
    if (recovery_) pids.push_back(recovery_->pid());
    return pids;
}

void PatchService::abandon(const Error& error) {
    while (!calls_.empty())
        fail(calls_.begin()->first, error);
}

} // namespace ew::server
