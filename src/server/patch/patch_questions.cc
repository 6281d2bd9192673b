// Whether a patch is applied, must be asked about, or is refused; and the question.
#include "core/sha256.h"
#include "core/text/display.h"
#include "sandbox/launch/init_place.h"
#include "server/patch/patch_service.h"
#include "server/request/extra_permissions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

using core::ApprovalPolicy;
using core::Decision;
using protocol::ApprovalDecision;
using protocol::ApprovalScope;

namespace {

// Of an approval that lets patches change a file.
std::string key_of(const std::string& path) {
    return core::sha256(fmt::format("patch\n{}", path));
}

std::vector<std::string> places_of(const files::PatchReport& report) {
    std::vector<std::string> places;
    for (const files::PatchedFile& file : report.files) {
        places.push_back(file.path);
        if (!file.destination.empty()) places.push_back(file.destination);
    }
    return places;
}

// An approval for the session is kept for each file.
std::vector<protocol::ApprovalChoice> choices(std::size_t places) {
    using enum ApprovalDecision;
    std::vector<protocol::ApprovalChoice> choices = {
        {approved, {}, "change these files this once", {}}};
    if (places <= PatchService::most_remembered)
        choices.push_back({approved_for_session,
                           ApprovalScope::session,
                           "let patches change these files, for this session",
                           {}});
    choices.push_back({denied, {}, "do not change them", {}});
    choices.push_back(
        {abort, {}, "do not change them, nor do anything else that is being asked about", {}});
    return choices;
}

// The last line of a diff that is shown only in part begins so.
bool is_cut(const protocol::PatchedFile& file) {
    const std::size_t end = file.diff.rfind('\n', file.diff.size() - 2);
    const std::size_t last = end == std::string::npos ? 0 : end + 1;
    return std::string_view(file.diff).substr(std::min(last, file.diff.size())).starts_with("…");
}

} // namespace

std::string summary_of(const files::PatchReport& report) {
    std::string summary;
    for (const files::PatchedFile& file : report.files) {
        if (!summary.empty()) summary += '\n';
        summary += fmt::format("{} {}", files::letter_of(file.kind), core::visible(file.path));
        if (!file.destination.empty())
            summary += fmt::format(" -> {}", core::visible(file.destination));
    }
    return summary;
}

// Empty: some file was not.
std::string PatchService::approved_before(const Call& call) {
    std::string last;
    for (const std::string& path : places_of(call.report)) {
        last = parts_.gate.find_approval(key_of(path), call.workdir, !call.is_check);
        if (last.empty()) return {};
    }
    return last;
}

// Null: the sandbox lets all of it be written.
const files::PatchedFile* PatchService::outside(const Call& call) {
    const auto found =
        std::ranges::find(call.report.files, false, &files::PatchedFile::is_writable);
    return found == call.report.files.end() ? nullptr : &*found;
}

PatchService::Verdict PatchService::verdict_on(const Call& call) {
    const config::Config& config = parts_.session.settings().config;
    const std::vector<std::string> places = places_of(call.report);
    const auto guarded = std::ranges::find_if(places, holds_what_runs_later);
    const files::PatchedFile* const closed = outside(call);
    std::string reason;
    if (config.approval_policy == ApprovalPolicy::untrusted)
        reason = "the approval policy asks about every patch";
    else if (guarded != places.end())
        reason = fmt::format("'{}' belongs to what git or agents obey", core::visible(*guarded));
    else if (call.sandbox && closed != nullptr)
        reason = fmt::format("'{}' is not in what the sandbox lets be written",
                             core::visible(closed->path));
    else
        return {Decision::allow,
                call.sandbox ? "all files lie where the sandbox lets commands write"
                             : "no sandbox is asked for, and the policy does not ask",
                "policy", ""};
    if (closed != nullptr && !parts_.files.allows(false))
        return {Decision::forbidden, reason + ", and this server does nothing without a sandbox",
                "policy", ""};
    if (std::string grant = approved_before(call); !grant.empty())
        return {Decision::allow, "these files may be changed: " + grant, "grant", grant};
    return verdict_of_policy(std::move(reason));
}

PatchService::Verdict PatchService::verdict_of_policy(std::string reason) const {
    const config::Config& config = parts_.session.settings().config;
    const bool is_off =
        config.approval_policy == ApprovalPolicy::never ||
        (config.approval_policy == ApprovalPolicy::granular && !config.granular.sandbox_approval);
    if (!is_off) return {Decision::prompt, std::move(reason), "policy", ""};
    return {Decision::forbidden, fmt::format("{}, and the policy lets nobody be asked", reason),
            "policy", ""};
}

void PatchService::act_on(std::uint64_t serial, Call& call, const Verdict& verdict) {
    call.decided_by = verdict.decided_by;
    call.rule = verdict.rule;
    if (verdict.decision == Decision::allow) {
        if (outside(call) != nullptr) call.sandbox.reset(); // it was approved
        return note(serial, call);
    }
    if (verdict.decision == Decision::forbidden)
        return fail(serial, {ErrorKind::denied,
                             fmt::format("the patch was not applied: {}", verdict.reason),
                             "leave these files alone, or let the person configure it"});
    if (parts_.session.answers_questions()) return ask(serial, call, verdict.reason);
    fail(
        serial,
        {ErrorKind::denied,
         fmt::format("the patch was not applied: it needs a person's approval ({}), and the client "
                     "cannot ask: it did not declare capabilities.approvals",
                     verdict.reason),
         "use a client that answers questions"});
}

protocol::ApprovalRequest PatchService::request_for(const Call& call,
                                                    const std::string& reason) const {
    protocol::ApprovalRequest request;
    request.call_id = call.call_id;
    request.kind = protocol::ApprovalKind::patch;
    request.argv = {"apply_patch"};
    request.program = sandbox::init_place();
    request.workdir = call.workdir;
    request.reason = reason;
    request.justification = call.params.justification;
    request.files = call.shown;
    request.available_decisions = choices(places_of(call.report).size());
    request.display.command = summary_of(call.report);
    request.display.program = core::visible(request.program);
    request.display.workdir = core::visible(request.workdir);
    request.display.reason = core::visible(reason);
    if (request.justification)
        request.display.justification = core::visible(*request.justification);
    for (const std::string& path : places_of(call.report)) {
        request.display.has_invisible_characters |= core::has_invisible(path);
        request.display.has_mixed_scripts |= core::has_mixed_scripts(path);
        if (holds_what_runs_later(path))
            request.display.notes.push_back(fmt::format(
                "What is written to {} can run later, outside the sandbox.", core::visible(path)));
    }
    if (std::ranges::any_of(call.shown, is_cut))
        request.display.notes.emplace_back("Not all changes are shown: the patch is too long.");
    if (call.sandbox && outside(call) != nullptr)
        request.display.notes.emplace_back("The files are changed outside the sandbox.");
    return request;
}

void PatchService::ask(std::uint64_t serial, Call& call, const std::string& reason) {
    call.stage = Stage::asking;
    call.asked_at = now_;
    audit(call, "question", "patch");
    // Two patches are never one question: what the first changes the second has not seen.
    Question question;
    question.request = request_for(call, reason);
    Result<void> asked = parts_.questions.ask(*this, serial, std::move(question), now_);
    if (!asked) fail(serial, asked.error());
}

// One approval for each file.
void PatchService::keep(const Question& question, const protocol::ApprovalAnswer& answer) {
    const Call* const call = find(question.calls.front());
    CHECK(call != nullptr); // it leaves its question before it ends
    if (answer.decision != ApprovalDecision::approved_for_session)
        return parts_.records.keep(question, answer);
    protocol::ApprovalAnswer kept = answer;
    kept.scope = ApprovalScope::session;
    Question one = question;
    one.request.files.reset(); // they are not kept, and may be long
    for (const std::string& path : places_of(call->report)) {
        one.grant_key = key_of(path);
        one.request.argv = {"apply_patch", path};
        parts_.records.keep(one, kept);
    }
}

void PatchService::approve(const Question& question, const protocol::ApprovalAnswer&) {
    Call* const call = find(question.calls.front());
    CHECK(call != nullptr);
    call->approval_ms += millis(now_ - *call->asked_at);
    call->decided_by = "client";
    if (outside(*call) != nullptr) call->sandbox.reset();
    note(question.calls.front(), *call);
}

void PatchService::refuse(const Question& question, const Error& error) {
    for (const std::uint64_t serial : question.calls)
        fail(serial, error);
}

} // namespace ew::server
