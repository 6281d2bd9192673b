// Questions: what a person is shown, which answers there are, what an answer brings about.
#include "core/text/display.h"
#include "json/strings.h"
#include "server/approval/choices.h"
#include "server/exec/exec_results.h"
#include "server/exec/exec_service.h"

#include <fmt/format.h>

#include <utility>

namespace ew::server {

namespace effect = core::exec_call::effect;
namespace event = core::exec_call::event;
using core::SandboxPermissions;
using core::exec_call::Bounds;
using protocol::ApprovalAnswer;
using protocol::ApprovalDecision;
using protocol::ApprovalKind;

namespace {

constexpr std::size_t most_denials_shown = 10; // to a person

// Where nothing is confined, nothing can be added.
ApprovalKind kind_of(const ExecPlan& plan) {
    switch (plan.extra.permissions) {
    case SandboxPermissions::use_default: return ApprovalKind::command;
    case SandboxPermissions::require_escalated: return ApprovalKind::escalation;
    case SandboxPermissions::with_additional_permissions: break;
    }
    return plan.policy ? ApprovalKind::permissions : ApprovalKind::command;
}

// What is allowed beyond the sandbox of the session.
void add_permissions(std::vector<std::string>& notes, const sandbox::Additions& more,
                     bool is_here) {
    if (!is_here && !(more.read.empty() && more.write.empty()))
        notes.emplace_back("Links there are followed: where these paths lead was not looked at.");
    if (more.network) notes.emplace_back("It may use the network, all of it.");
    for (const std::string& path : more.read)
        notes.push_back(fmt::format("It may read {}.", core::visible(path)));
    for (const std::string& path : more.write) {
        notes.push_back(fmt::format("It may write {}.", core::visible(path)));
        if (holds_what_runs_later(path))
            notes.emplace_back("What is written there can run later, outside the sandbox.");
    }
}

// What the sandbox would hide, and running outside it would not.
void add_denied_reads(std::vector<std::string>& notes, const sandbox::Policy& policy) {
    for (const sandbox::Entry& entry : policy.entries)
        if (entry.access == sandbox::Access::deny && !entry.path.empty())
            notes.push_back(
                fmt::format("Outside the sandbox it can read {}, which is denied inside.",
                            core::visible(entry.path)));
}

// What allowing what was refused means.
void add_reach_of(std::vector<std::string>& notes,
                  const std::optional<sandbox::Additions>& widening, bool is_here) {
    if (!widening) {
        notes.emplace_back(
            is_here
                ? "Nothing narrower than running it outside the sandbox would allow that."
                : "What would allow just that in another environment cannot be told from here.");
        return;
    }
    if (widening->network)
        notes.emplace_back("The network can be allowed as a whole, not for single hosts.");
    for (const std::string& path : widening->write) {
        const std::string shown = core::visible(path);
        if (is_directory(path))
            notes.push_back(fmt::format("All that is in {} could be written.", shown));
        if (holds_what_runs_later(path))
            notes.push_back(
                fmt::format("What is written to {} can run later, outside the sandbox.", shown));
    }
}

// What a person must know that the command does not show.
std::vector<std::string> notes_on(const protocol::ApprovalRequest& request, const ExecPlan& plan) {
    std::vector<std::string> notes;
    if (plan.remote)
        notes.push_back(fmt::format("It runs in the environment {}, which is reached by: {}",
                                    core::visible(plan.remote->environment),
                                    core::shell_quoted(plan.remote->reached_by)));
    if (request.kind == ApprovalKind::escalation) {
        notes.emplace_back("It runs outside the sandbox.");
        if (plan.policy) add_denied_reads(notes, *plan.policy);
    }
    if (request.tty)
        notes.emplace_back("It gets a terminal: nothing typed into it later is asked about.");
    if (plan.is_login)
        notes.emplace_back("It is a login shell: start-up files of the user run first.");
    if (request.kind == ApprovalKind::permissions)
        add_permissions(notes, plan.extra.additions, !plan.remote);
    if (!request.sandbox.missing.empty())
        notes.push_back(fmt::format("The sandbox cannot keep all its promises here: {}.",
                                    fmt::join(request.sandbox.missing, ", ")));
    return notes;
}

protocol::ApprovalDisplay display_of(const protocol::ApprovalRequest& request,
                                     protocol::ExecMode mode,
                                     const std::vector<std::string>& variables) {
    protocol::ApprovalDisplay display;
    const std::string command = mode == protocol::ExecMode::direct
                                    ? core::shell_quoted(request.argv)
                                    : core::visible(request.argv.back());
    display.command = command;
    display.program = core::visible(request.program);
    if (request.proposed_prefix_rule)
        display.prefix_rule = core::shell_quoted(*request.proposed_prefix_rule);
    display.workdir = core::visible(request.workdir);
    display.reason = core::visible(request.reason);
    if (request.justification) display.justification = core::visible(*request.justification);
    if (request.stdin_text) display.stdin_text = core::visible(*request.stdin_text);
    for (const std::string& variable : variables)
        display.environment.push_back(core::visible(variable));
    for (const std::string& variable : variables)
        display.has_invisible_characters |= core::has_invisible(variable);
    for (const std::string& word : request.argv) {
        display.has_invisible_characters |= core::has_invisible(word);
        display.has_mixed_scripts |= core::has_mixed_scripts(word);
    }
    display.has_invisible_characters |= core::has_invisible(request.workdir) ||
                                        core::has_invisible(request.program) ||
                                        core::has_invisible(request.stdin_text.value_or("")) ||
                                        core::has_invisible(request.justification.value_or(""));
    return display;
}

} // namespace

void ExecService::carry_out(std::uint64_t serial, Call& call, const effect::Ask&) {
    ask(serial, call, kind_of(call.plan));
}

void ExecService::carry_out(std::uint64_t serial, Call& call, const effect::AskToRetry&) {
    ask(serial, call, ApprovalKind::retry);
}

protocol::ApprovalRequest ExecService::request_for(const Call& call, ApprovalKind kind) {
    protocol::ApprovalRequest request;
    request.call_id = call.call_id;
    request.kind = kind;
    request.argv = call.plan.argv;
    request.program = call.plan.program;
    request.environment = call.plan.environment_id();
    request.workdir = call.plan.workdir;
    request.reason = call.ruling.judgement.reason;
    request.justification = call.params.justification;
    request.tty = call.params.tty;
    request.stdin_text = call.params.stdin_text;
    request.sandbox = expected_confinement(call.plan, call.plan.extra);
    if (!call.plan.extra.additions.empty())
        request.additional_permissions = permissions_of(call.plan.extra.additions);
    if (kind == ApprovalKind::command && !call.ruling.judgement.proposed_prefix.empty())
        request.proposed_prefix_rule = call.ruling.judgement.proposed_prefix;
    const ApprovalExtent extent = extent_of(call.plan, session_);
    if (kind == ApprovalKind::retry)
        request.available_decisions = retry_choices(extent, call.widening);
    else
        request.available_decisions = choices(extent, call.ruling.judgement, kind);
    if (kind == ApprovalKind::retry) add_evidence(call, request);
    const std::vector<std::string> evidence = std::move(request.display.notes);
    request.display = display_of(request, call.plan.mode, call.plan.own_variables);
    request.display.notes = notes_on(request, call.plan);
    request.display.notes.insert(request.display.notes.begin(), evidence.begin(), evidence.end());
    return request;
}

// What was refused to the first attempt, and what running it again means.
void ExecService::add_evidence(const Call& call, protocol::ApprovalRequest& request) {
    Process* const process = processes_.find(call.process);
    CHECK(process != nullptr); // it is not pruned while its call waits
    request.denials = process->denials();
    request.sandbox = process->confinement();
    request.reason = fmt::format("it failed with exit code {}, and the sandbox had refused it "
                                 "something; run it again?",
                                 outcome_of(*process).exit_code);
    std::vector<std::string>& notes = request.display.notes;
    for (const protocol::Denial& denial : request.denials) {
        if (notes.size() == most_denials_shown) break;
        const std::string way =
            denial.allow ? fmt::format(" To allow it: {}.", core::visible(*denial.allow)) : "";
        notes.push_back(fmt::format("Refused: {}.{}", described(denial), way));
    }
    if (request.denials.size() > notes.size())
        notes.push_back(
            fmt::format("{} more were refused.", request.denials.size() - notes.size()));
    notes.emplace_back("It would run again from its beginning: what it has done is not undone.");
    add_reach_of(notes, call.widening, !call.plan.remote);
    if (call.plan.policy) add_denied_reads(notes, *call.plan.policy);
}

// What is asked once must mean the same for all who wait: the same program in the same place, and
// after a first attempt the same that was refused.
std::string ExecService::shared_key(const Call& call, ApprovalKind kind) const {
    std::vector<std::string> parts = {std::string(json::name_of(kind)), call.plan.workdir,
                                      call.ruling.key};
    if (kind != ApprovalKind::retry) return json::strings_to_json(parts);
    const Process* const process = processes_.find(call.process);
    CHECK(process != nullptr);
    parts.push_back(described(call.widening.value_or(sandbox::Additions{})));
    for (const protocol::Denial& denial : process->denials())
        parts.push_back(fmt::format("{} {} {}", denial.kind, denial.operation.value_or(""),
                                    denial.target.value_or("")));
    return json::strings_to_json(parts);
}

void ExecService::ask(std::uint64_t serial, Call& call, ApprovalKind kind) {
    call.asked_at = now_;
    audit(call, "question", std::string(json::name_of(kind)));
    Question question;
    question.key = shared_key(call, kind);
    if (questions_.join(*this, question.key, serial)) return;
    question.grant_key = call.ruling.key;
    question.widening = call.plan.extra.additions;
    if (kind == ApprovalKind::retry && call.widening) {
        question.widening = call.widening;
        question.widened_key = approval_key(call.plan, call.params, again(call, Bounds::widened));
    }
    question.project = call.plan.remote ? "" : session_.project();
    question.workspace_root = extent_of(call.plan, session_).workspace_root;
    question.request = request_for(call, kind);
    Result<void> asked = questions_.ask(*this, serial, std::move(question), now_);
    if (!asked) events_.emplace_back(serial, event::Refused{asked.error()});
}

void ExecService::carry_out(std::uint64_t serial, Call&, const effect::WithdrawQuestion&) {
    questions_.leave(*this, serial);
}

void ExecService::keep(const Question& question, const ApprovalAnswer& answer) {
    records_.keep(question, answer);
}

void ExecService::approve(const Question& question, const ApprovalAnswer& answer) {
    const bool is_widened = answer.decision == ApprovalDecision::approved_widened;
    const Bounds again = is_widened ? Bounds::widened : Bounds::none;
    for (const std::uint64_t serial : question.calls)
        events_.emplace_back(serial, event::Approved{again});
    work();
}

void ExecService::refuse(const Question& question, const Error& error) {
    for (const std::uint64_t serial : question.calls)
        events_.emplace_back(serial, event::Refused{error});
    work();
}

} // namespace ew::server
