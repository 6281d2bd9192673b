#include "server/patch/patch_service.h"

#include "base/check.h"
#include "base/log.h"
#include "core/text/paths.h"
#include "files/patch/held_journal.h"
#include "patch/parse.h"
#include "sandbox/policy/policy.h"
#include "server/connection/notify.h"
#include "server/connection/source.h"
#include "server/patch/patch_answers.h"
#include "server/patch/patch_question.h"
#include "server/request/sandbox_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

namespace effect = core::patch_call::effect;
namespace event = core::patch_call::event;
namespace state = core::patch_call::state;
using core::patch_call::Purpose;
using core::patch_call::Settlement;

namespace {

constexpr Millis recovery_time{60'000}; // how long the recovery of all left-over patches may take

void warn_if_unclear(const PendingPatch& patch, const core::patch_call::Event& news) {
    const auto* const settled = std::get_if<event::Settled>(&news);
    if (settled != nullptr && settled->settlement == Settlement::unclear)
        log::warning("patch", "{}: {}", patch.call_id, settled->reason);
}

core::patch_call::Event applied(PatchFileReport& answer) {
    if (answer.report) return event::Applied{};
    return event::ApplyFailed{answer.report.error(), answer.is_settled};
}

// Plans the directory and the confinement; no program is run.
Result<ExecPlan> plan_for(const protocol::PatchApplyParams& params, const PatchParts& parts) {
    protocol::ExecCommandParams command;
    command.argv = {"apply_patch"};
    command.workdir = params.workdir;
    const Session& session = parts.session;
    return plan_exec(command, {session.settings(), parts.gate.login_shell(), session.tag(),
                               hidden_places(session.setup().paths, session.database()),
                               session.setup().config.environment.set});
}

} // namespace

// ---------------------------------------------------------------- requests

void PatchService::handle(Reply reply, protocol::PatchCheckParams params) {
    PendingPatch patch = {std::move(reply), Purpose::check};
    patch.params.patch = std::move(params.patch);
    patch.params.workdir = std::move(params.workdir);
    begin(std::move(patch));
}

void PatchService::handle(Reply reply, protocol::PatchApplyParams params) {
    PendingPatch patch = {std::move(reply)};
    patch.params = std::move(params);
    begin(std::move(patch));
}

void PatchService::handle(Reply reply, const protocol::ExecCommandParams& params,
                          patch::PatchCall patch_call, const WaitTerms& terms) {
    PendingPatch patch = {std::move(reply)};
    patch.command = terms;
    patch.params.patch = std::move(patch_call.patch);
    patch.params.workdir = params.workdir;
    if (!patch_call.directory.empty())
        patch.params.workdir =
            patch_call.directory.starts_with('/') || !params.workdir || params.workdir->empty()
                ? patch_call.directory
                : core::joined(*params.workdir, patch_call.directory);
    patch.params.justification = params.justification;
    patch.params.call_id = params.call_id;
    begin(std::move(patch));
}

Result<std::optional<patch::PatchCall>> patch_in(const protocol::ExecCommandParams& params) {
    if (params.argv) return patch::recognise(*params.argv);
    if (params.command) return patch::recognise({"sh", "-c", *params.command});
    return std::optional<patch::PatchCall>();
}

void PatchService::begin(PendingPatch patch) {
    if (patches_.size() >= most_calls)
        return patch.reply.fail(
            {ErrorKind::limit, fmt::format("{} patches wait for their answer already", most_calls),
             "wait for answers, or cancel calls"});
    if (patch.params.patch.size() > patch::longest_patch)
        return patch.reply.fail({ErrorKind::limit,
                                 fmt::format("the patch has {} bytes; at most {} are taken",
                                             patch.params.patch.size(), patch::longest_patch),
                                 "apply it as several smaller patches"});
    Result<ExecPlan> plan = plan_for(patch.params, parts_);
    if (!plan) return patch.reply.fail(plan.error());
    if (Result<void> allowed = parts_.files.allows(plan->policy.has_value()); !allowed)
        return patch.reply.fail(allowed.error());
    patch.began_at = now_;
    patch.call_id = patch.params.call_id.value_or(patch.reply.call_id());
    patch.workdir = std::move(plan->workdir);
    if (plan->policy) {
        patch.sandbox = SandboxOrder{std::move(*plan->policy), std::move(plan->context)};
        fit_for_files(patch.sandbox->policy);
    }
    const std::uint64_t serial = ++last_serial_;
    PendingPatch& pending = patches_.emplace(serial, std::move(patch)).first->second;
    (void)follow(serial, pending, core::patch_call::begin(pending.purpose)); // it has no event
    if (ending_) deliver(serial, event::Ending{*ending_});
}

// ---------------------------------------------------------------- events

PendingPatch* PatchService::find(std::uint64_t serial) {
    const auto found = patches_.find(serial);
    return found == patches_.end() ? nullptr : &found->second;
}

void PatchService::deliver(std::uint64_t serial, Event event) {
    News next = std::move(event);
    while (next) {
        PendingPatch* const patch = find(serial);
        if (patch == nullptr) return;
        warn_if_unclear(*patch, *next);
        next = follow(serial, *patch, core::patch_call::on(patch->state, *next));
    }
}

PatchService::News PatchService::follow(std::uint64_t serial, PendingPatch& patch,
                                        core::patch_call::Step step) {
    patch.state = std::move(step.next);
    News news;
    for (const core::patch_call::Effect& effect : step.effects)
        news = std::visit([&](const auto& what) { return carry_out(serial, patch, what); }, effect);
    if (std::holds_alternative<state::Answered>(patch.state)) patches_.erase(serial);
    return news;
}

void PatchService::deliver_to_all(const Event& event) {
    std::vector<std::uint64_t> serials;
    for (const auto& entry : patches_)
        serials.push_back(entry.first);
    for (const std::uint64_t serial : serials)
        deliver(serial, event);
}

void PatchService::on_news() {
    for (PatchFileReport& answer : parts_.files.take_reports()) {
        PendingPatch* const patch = find(answer.patch);
        if (patch == nullptr) continue;
        const bool is_checking = std::holds_alternative<state::Checking>(patch->state);
        deliver(answer.patch, is_checking ? checked(*patch, answer.report) : applied(answer));
    }
}

PatchService::Event PatchService::checked(PendingPatch& patch, Result<std::string>& report) {
    if (!report) return event::CheckFailed{report.error()};
    std::optional<files::PatchReport> decoded = files::decode_report(*report);
    if (!decoded)
        return event::CheckFailed{
            {ErrorKind::internal, "the report on the patch could not be read"}};
    patch.report = std::move(*decoded);
    patch.shown = take_shown(patch.report);
    const PatchInQuestion in_question = {patch.report, patch.workdir, patch.sandbox.has_value(),
                                         patch.purpose == Purpose::check,
                                         static_cast<bool>(parts_.files.allows(false))};
    patch.ruling = rule_on(in_question, parts_.session, parts_.gate);
    return event::Checked{verdict_of(patch.ruling, parts_.session)};
}

void PatchService::on_errand(std::uint64_t serial) {
    if (serial == 0) {
        if (recovery_ && recovery_->take_result(now_)) recovery_.reset();
        return;
    }
    PendingPatch* const patch = find(serial);
    if (patch == nullptr || !patch->journal) return;
    if (News news = patch->journal->take_news(now_)) deliver(serial, std::move(*news));
}

bool PatchService::cancel(const json::Id& id) {
    const auto found = std::ranges::find_if(
        patches_, [&id](const auto& entry) { return entry.second.reply.id() == id; });
    if (found == patches_.end()) return false;
    deliver(found->first, event::Cancelled{});
    return true;
}

std::int64_t PatchService::keep(const Question& question, const protocol::ApprovalAnswer& answer) {
    const PendingPatch* const patch = find(question.calls.front());
    CHECK(patch != nullptr); // a patch leaves its question before it ends
    keep_answer(*patch, question, answer, parts_.records);
    return 0;
}

void PatchService::approve(const Question& question, const protocol::ApprovalAnswer&) {
    const std::uint64_t serial = question.calls.front();
    PendingPatch* const patch = find(serial);
    CHECK(patch != nullptr);
    patch->approval_ms += millis(now_ - *patch->asked_at);
    patch->ruling.decided_by = "client";
    deliver(serial, event::Approved{});
}

void PatchService::edit(const Question&, const protocol::ApprovalAnswer&) {
    CHECK(false); // no question about a patch offers it
}

void PatchService::refuse(const Question& question, const Error& error) {
    deliver(question.calls.front(), event::Refused{error});
}

void PatchService::refuse_all(const Error& error) {
    ending_ = error;
    deliver_to_all(event::Ending{error});
}

void PatchService::abandon(const Error& error) {
    deliver_to_all(event::Abandoned{error});
}

// ---------------------------------------------------------------- effects

PatchService::News PatchService::carry_out(std::uint64_t serial, PendingPatch& patch,
                                           const effect::Check&) {
    files::Request request;
    request.verb = files::Verb::patch_check;
    request.path = patch.workdir;
    request.data = patch.params.patch;
    parts_.files.begin_for(serial, std::move(request), patch.sandbox);
    return std::nullopt;
}

PatchService::News PatchService::carry_out(std::uint64_t serial, PendingPatch&,
                                           const effect::CallOff&) {
    parts_.files.call_off_patch(serial);
    return std::nullopt;
}

PatchService::News PatchService::carry_out(std::uint64_t serial, PendingPatch& patch,
                                           const effect::Ask&) {
    patch.asked_at = now_;
    audit(patch, "question", "patch");
    Question question;
    question.request = question_about(patch);
    Result<void> asked = parts_.questions.ask(*this, serial, std::move(question), now_);
    if (!asked) return event::Refused{asked.error()};
    return std::nullopt;
}

PatchService::News PatchService::carry_out(std::uint64_t serial, PendingPatch&,
                                           const effect::WithdrawQuestion&) {
    parts_.questions.leave(*this, serial);
    return std::nullopt;
}

// A file that the sandbox does not let it write was approved, so no sandbox is used.
PatchService::News PatchService::carry_out(std::uint64_t serial, PendingPatch& patch,
                                           const effect::Note&) {
    if (find_unwritable(patch.report) != nullptr) patch.sandbox.reset();
    patch.journal = std::make_unique<JournalKeeper>(parts_.session.setup().paths.state_directory,
                                                    parts_.poller, token_of(Source::patch, serial));
    return patch.journal->write(patch.report, now_);
}

PatchService::News PatchService::carry_out(std::uint64_t serial, PendingPatch& patch,
                                           const effect::Apply&) {
    notify(parts_.outbox, "patch/begin",
           protocol::PatchBeginEvent{patch.call_id, patch.workdir, patch.ruling.decided_by,
                                     patch.shown});
    audit(patch, "start", fmt::format("{} files", patch.report.files.size()));
    files::Request request;
    request.verb = files::Verb::patch_apply;
    request.path = patch.workdir;
    request.data = patch.params.patch;
    request.token = patch.journal->patch_token();
    request.expected = patch.report.digest;
    parts_.files.begin_for(serial, std::move(request), patch.sandbox);
    return std::nullopt;
}

PatchService::News PatchService::carry_out(std::uint64_t, PendingPatch& patch,
                                           const effect::Settle&) {
    return patch.journal->settle(now_);
}

PatchService::News PatchService::carry_out(std::uint64_t, PendingPatch& patch,
                                           const effect::RemoveJournal&) {
    return patch.journal->remove(now_);
}

PatchService::News PatchService::carry_out(std::uint64_t, PendingPatch& patch,
                                           const effect::AnswerChecked&) {
    answer_checked(patch);
    return std::nullopt;
}

PatchService::News PatchService::carry_out(std::uint64_t, PendingPatch& patch,
                                           const effect::AnswerApplied&) {
    notify(parts_.outbox, "patch/end",
           protocol::PatchEndEvent{patch.call_id, protocol::PatchOutcome::applied, {}});
    audit(patch, "end", "applied");
    answer_applied(patch, now_);
    return std::nullopt;
}

PatchService::News PatchService::carry_out(std::uint64_t, PendingPatch& patch,
                                           const effect::AnswerFailed& failed) {
    if (failed.was_begun)
        notify(parts_.outbox, "patch/end",
               protocol::PatchEndEvent{patch.call_id, protocol::PatchOutcome::failed,
                                       failed.error.message});
    if (patch.purpose == Purpose::apply) audit(patch, "failure", failed.error.message);
    answer_failed(patch, failed.error, now_);
    return std::nullopt;
}

void PatchService::audit(const PendingPatch& patch, std::string_view event, std::string detail) {
    store::AuditRow row;
    row.call = patch.call_id;
    row.event = event;
    row.argv = R"(["apply_patch"])";
    row.directory = patch.workdir;
    row.decided_by = patch.ruling.decided_by;
    row.rule = patch.ruling.rule;
    row.detail = std::move(detail);
    parts_.records.audit(std::move(row));
}

// ---------------------------------------------------------------- time

void PatchService::recover_left_over() {
    if (parts_.session.setup().paths.state_directory.empty()) return;
    Result<os::Errand> errand = os::Errand::begin(
        [state = parts_.session.setup().paths.state_directory] {
            (void)files::recover_left_over(state); // the next recovery reports it again
            return std::string("done");
        },
        {}, now_ + recovery_time);
    if (!errand) return log::warning("patch", "{}", errand.error().message);
    recovery_.emplace(std::move(*errand), parts_.poller, token_of(Source::patch));
}

void PatchService::on_time() {
    std::vector<std::uint64_t> late;
    for (const auto& [serial, patch] : patches_)
        if (patch.journal && is_due(patch.journal->deadline(), now_)) late.push_back(serial);
    for (const std::uint64_t serial : late)
        on_errand(serial);
    if (recovery_ && recovery_->deadline() <= now_) on_errand(0);
}

std::optional<TimePoint> PatchService::next_deadline() const {
    std::optional<TimePoint> next;
    if (recovery_) next = earlier(next, recovery_->deadline());
    for (const auto& entry : patches_)
        if (entry.second.journal) next = earlier(next, entry.second.journal->deadline());
    return next;
}

std::vector<pid_t> PatchService::errands() const {
    std::vector<pid_t> pids;
    for (const auto& entry : patches_)
        if (const auto& journal = entry.second.journal; journal && journal->errand() != 0)
            pids.push_back(journal->errand());
    if (recovery_) pids.push_back(recovery_->pid());
    return pids;
}

} // namespace ew::server
