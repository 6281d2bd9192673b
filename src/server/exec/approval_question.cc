#include "server/exec/approval_question.h"

#include "core/judgement/further_words.h"
#include "core/text/display.h"
#include "core/text/long_words.h"
#include "json/strings.h"
#include "protocol/exec_events.h"
#include "server/approval/choices.h"
#include "server/exec/attempt.h"
#include "server/exec/exec_results.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace ew::server {

using core::SandboxPermissions;
using core::exec_call::Bounds;
using protocol::ApprovalKind;

namespace {

constexpr std::size_t most_denials_shown = 10; // in one question
constexpr std::uint64_t most_edits = 4;        // of the command of one call

// Adds a note for each permission that goes beyond the session's sandbox.
void add_permissions(std::vector<std::string>& notes, const sandbox::Additions& more,
                     bool is_here) {
    if (!is_here && !(more.read.empty() && more.write.empty()))
        notes.emplace_back("Links there are followed: where these paths lead was not looked at.");
    if (more.network) notes.emplace_back("It may use the network, all of it.");
    for (const std::string& host : more.hosts)
        notes.push_back(fmt::format("It may connect to {}.", core::visible(host)));
    for (const std::string& path : more.read)
        notes.push_back(fmt::format("It may read {}.", core::visible(path)));
    for (const std::string& path : more.write) {
        notes.push_back(fmt::format("It may write {}.", core::visible(path)));
        if (holds_what_runs_later(path))
            notes.emplace_back("What is written there can run later, outside the sandbox.");
    }
}

// Adds a note for each path that the sandbox hides and the command can read outside it.
void add_denied_reads(std::vector<std::string>& notes, const sandbox::Policy& policy) {
    for (const sandbox::Entry& entry : policy.entries)
        if (entry.access == sandbox::Access::deny && !entry.path.empty())
            notes.push_back(
                fmt::format("Outside the sandbox it can read {}, which is denied inside.",
                            core::visible(entry.path)));
}

// Adds notes on what an approval of the refused access would allow.
void add_meaning_of(std::vector<std::string>& notes,
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

// Returns the facts that a person must know and the command does not show.
std::vector<std::string> notes_on(const protocol::ApprovalRequest& request, const ExecPlan& plan) {
    std::vector<std::string> notes;
    if (plan.remote)
        notes.push_back(fmt::format("It runs in the environment {}, which is reached by: {}",
                                    core::visible(plan.remote->environment),
                                    core::shell_quoted(plan.remote->reached_by)));
    if (plan.argv.back().size() > core::longest_word)
        notes.push_back(
            fmt::format("The script has {} bytes; only its begin and its end are shown.",
                        plan.argv.back().size()));
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

// A script is looked at as a whole, also where its middle is not shown.
protocol::ApprovalDisplay display_of(const protocol::ApprovalRequest& request,
                                     const ExecPlan& plan) {
    const std::vector<std::string>& variables = plan.own_variables;
    protocol::ApprovalDisplay display;
    const std::string command = plan.mode == protocol::ExecMode::direct
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
    const std::string empty;
    const auto look_at = [&](std::string_view text) {
        display.has_invisible_characters |= core::has_invisible(text);
        display.has_mixed_scripts |= core::has_mixed_scripts(text);
    };
    const sandbox::Additions& more = plan.extra.additions;
    for (const auto* const words : {&variables, &plan.argv, &more.read, &more.write})
        for (const std::string& word : *words)
            look_at(word);
    for (const std::string_view text :
         {std::string_view(request.workdir), std::string_view(request.program),
          std::string_view(request.stdin_text ? *request.stdin_text : empty),
          std::string_view(request.justification ? *request.justification : empty)})
        look_at(text);
    return display;
}

// A command that is not confined cannot get additional permissions.
ApprovalKind kind_of(const ExecPlan& plan) {
    switch (plan.extra.permissions) {
    case SandboxPermissions::use_default: return ApprovalKind::command;
    case SandboxPermissions::require_escalated: return ApprovalKind::escalation;
    case SandboxPermissions::with_additional_permissions: break;
    }
    return plan.policy ? ApprovalKind::permissions : ApprovalKind::command;
}

// Returns notes on the denials of the first attempt, and on the effects of a second one.
std::vector<std::string> evidence_of(const Call& call,
                                     const std::vector<protocol::Denial>& denials) {
    std::vector<std::string> notes;
    for (const protocol::Denial& denial : denials) {
        if (notes.size() == most_denials_shown) break;
        const std::string way =
            denial.allow ? fmt::format(" To allow it: {}.", core::visible(*denial.allow)) : "";
        notes.push_back(fmt::format("Refused: {}.{}", described(denial), way));
    }
    if (denials.size() > notes.size())
        notes.push_back(fmt::format("{} more were refused.", denials.size() - notes.size()));
    notes.emplace_back("It would run again from its beginning: what it has done is not undone.");
    add_meaning_of(notes, call.widening, !call.plan.remote);
    if (call.plan.policy) add_denied_reads(notes, *call.plan.policy);
    return notes;
}

// Fills in the members that both questions share.
protocol::ApprovalRequest request_for(const JudgedCall& call, ApprovalKind kind) {
    protocol::ApprovalRequest request;
    request.call_id = call.call_id;
    request.kind = kind;
    request.argv = core::shown_words(call.plan.argv);
    request.program = call.plan.program;
    request.environment = call.plan.environment_id();
    request.workdir = call.plan.workdir;
    request.justification = call.params.justification;
    request.tty = call.params.tty;
    request.stdin_text = call.params.stdin_text;
    if (!call.plan.extra.additions.empty())
        request.additional_permissions = permissions_of(call.plan.extra.additions);
    return request;
}

void add_display(protocol::ApprovalRequest& request, const JudgedCall& call,
                 const std::vector<std::string>& evidence) {
    request.display = display_of(request, call.plan);
    request.display.notes = evidence;
    for (std::string& note : notes_on(request, call.plan))
        request.display.notes.push_back(std::move(note));
    if (request.proposed_prefix_rule)
        request.display.notes.push_back(
            fmt::format("The rule that is offered also allows, behind its words, {}.",
                        core::further_words_of(*request.proposed_prefix_rule)));
}

Question question_on(const JudgedCall& call, const Session& session) {
    Question question;
    question.grant_key = call.ruling.key;
    question.widening = call.plan.extra.additions;
    question.project = call.plan.remote ? "" : session.project();
    question.workspace_root = extent_of(call.plan, session).workspace_root;
    return question;
}

// Calls share a question only if an answer means the same for all of them: they run the same
// program in the same directory.
std::vector<std::string> key_parts(const JudgedCall& call, ApprovalKind kind) {
    return {std::string(json::name_of(kind)), call.plan.workdir, call.ruling.key};
}

} // namespace

Question first_question(const JudgedCall& call, const Session& session,
                        const protocol::Confinement& expected) {
    const ApprovalKind kind = kind_of(call.plan);
    Question question = question_on(call, session);
    question.key = json::strings_to_json(key_parts(call, kind));
    question.request = request_for(call, kind);
    question.request.reason = call.ruling.judgement.reason;
    question.request.sandbox = expected;
    if (kind == ApprovalKind::command && !call.ruling.judgement.proposed_prefix.empty())
        question.request.proposed_prefix_rule = call.ruling.judgement.proposed_prefix;
    question.request.available_decisions =
        choices(extent_of(call.plan, session), call.ruling.judgement, kind);
    if (call.edits >= most_edits)
        std::erase_if(question.request.available_decisions, [](const auto& choice) {
            return choice.decision == protocol::ApprovalDecision::edited;
        });
    std::vector<std::string> notes;
    if (call.edited)
        notes.push_back(fmt::format("A person edited the command. The call asked for: {}",
                                    core::shell_quoted(call.edited->from)));
    add_display(question.request, call, notes);
    return question;
}

Question retry_question(const Call& call, const Session& session, const Process& first) {
    const std::vector<protocol::Denial> denials = first.denials();
    Question question = question_on(call, session);
    // Only a denial is remembered with this key.
    question.grant_key = approval_key(call.plan, call.params, extra_again(call, Bounds::none));
    if (call.widening) {
        question.widening = call.widening;
        question.widened_key =
            approval_key(call.plan, call.params, extra_again(call, Bounds::widened));
    }
    // Calls share this question only if their denials are equal, too.
    std::vector<std::string> parts = key_parts(call, ApprovalKind::retry);
    parts.push_back(described(call.widening.value_or(sandbox::Additions{})));
    for (const protocol::Denial& denial : denials)
        parts.push_back(fmt::format("{} {} {}", denial.kind, denial.operation.value_or(""),
                                    denial.target.value_or("")));
    question.key = json::strings_to_json(parts);
    question.request = request_for(call, ApprovalKind::retry);
    question.request.reason =
        fmt::format("it failed with exit code {}, and the sandbox had refused it something; run it "
                    "again?",
                    outcome_of(first).exit_code);
    question.request.sandbox = first.confinement();
    question.request.denials = denials;
    question.request.available_decisions =
        retry_choices(extent_of(call.plan, session), call.widening);
    add_display(question.request, call, evidence_of(call, denials));
    return question;
}

} // namespace ew::server
