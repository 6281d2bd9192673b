// What the effects of a call do: questions, starts, answers.
#include "base/log.h"
#include "core/display.h"
#include "json/strings.h"
#include "os/io.h"
#include "protocol/decode.h"
#include "server/exec_results.h"
#include "server/exec_service.h"
#include "server/notify.h"

#include <fmt/format.h>

namespace ew::server {

namespace effect = core::exec_call::effect;
namespace event = core::exec_call::event;
using core::SandboxPermissions;
using protocol::ApprovalAnswer;
using protocol::ApprovalDecision;
using protocol::ApprovalKind;

namespace {

std::uint64_t millis(TimePoint::duration duration) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<Millis>(duration).count());
}

ApprovalKind kind_of(SandboxPermissions permissions) {
    switch (permissions) {
    case SandboxPermissions::use_default: return ApprovalKind::command;
    case SandboxPermissions::require_escalated: return ApprovalKind::escalation;
    case SandboxPermissions::with_additional_permissions: return ApprovalKind::permissions;
    }
    return ApprovalKind::command;
}

std::vector<std::vector<std::string>> words_of(const core::Judgement& judgement) {
    std::vector<std::vector<std::string>> commands;
    for (const core::CommandVerdict& verdict : judgement.commands)
        commands.push_back(verdict.words);
    return commands;
}

// What a person must know that the command does not show.
std::vector<std::string> notes_on(const protocol::ApprovalRequest& request, bool is_login) {
    std::vector<std::string> notes;
    if (request.kind == ApprovalKind::escalation || request.kind == ApprovalKind::retry)
        notes.emplace_back("It runs outside the sandbox.");
    if (request.tty)
        notes.emplace_back("It gets a terminal: nothing typed into it later is asked about.");
    if (is_login) notes.emplace_back("It is a login shell: start-up files of the user run first.");
    if (!request.additional_permissions) return notes;
    const protocol::AdditionalPermissions& more = *request.additional_permissions;
    if (more.network && more.network->enabled) notes.emplace_back("It may use the network.");
    if (!more.file_system) return notes;
    for (const std::string& path : more.file_system->read)
        notes.push_back(fmt::format("It may read {}.", core::visible(path)));
    for (const std::string& path : more.file_system->write)
        notes.push_back(fmt::format("It may write {}.", core::visible(path)));
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

bool was_offered(const protocol::ApprovalRequest& request, const ApprovalAnswer& answer) {
    for (const protocol::ApprovalChoice& choice : request.available_decisions) {
        if (choice.decision != answer.decision) continue;
        if (!answer.scope || choice.scope == answer.scope) return true;
    }
    return false;
}

bool approves(ApprovalDecision decision) {
    return decision != ApprovalDecision::denied && decision != ApprovalDecision::abort;
}

} // namespace

void ExecService::audit(const Call& call, std::string_view event, std::string detail) {
    store::AuditRow row;
    row.call = call.call_id;
    row.event = event;
    row.argv = json::strings_to_json(call.plan.argv);
    row.directory = call.plan.workdir;
    row.decision = json::name_of(call.ruling.decision);
    row.decided_by = call.ruling.decided_by;
    row.rule = call.ruling.rule;
    row.detail = std::move(detail);
    gate_.audit(std::move(row));
}

void ExecService::audit_start(const Call& call, const std::string& decided_by,
                              const std::string& process) {
    store::AuditRow row;
    row.call = call.call_id;
    row.event = "start";
    row.argv = json::strings_to_json(call.plan.argv);
    row.directory = call.plan.workdir;
    row.decision = json::name_of(core::Decision::allow);
    row.decided_by = decided_by;
    row.rule = call.ruling.rule;
    row.detail = fmt::format("process {}", process);
    gate_.audit(std::move(row));
}

void ExecService::carry_out(std::uint64_t serial, Call& call, const effect::Ask&) {
    ask(serial, call, kind_of(call.params.sandbox_permissions));
}

void ExecService::carry_out(std::uint64_t serial, Call& call, const effect::AskToRetry&) {
    ask(serial, call, ApprovalKind::retry);
}

protocol::ApprovalRequest ExecService::request_for(const Call& call, ApprovalKind kind) const {
    protocol::ApprovalRequest request;
    request.call_id = call.call_id;
    request.kind = kind;
    request.argv = call.plan.argv;
    request.program = call.plan.program;
    request.workdir = call.plan.workdir;
    request.reason = kind == ApprovalKind::retry
                         ? "the sandbox stopped it; run it again without a sandbox?"
                         : call.ruling.judgement.reason;
    request.justification = call.params.justification;
    request.tty = call.params.tty;
    request.stdin_text = call.params.stdin_text;
    request.additional_permissions = call.params.additional_permissions;
    request.denials = call.denials;
    if (kind == ApprovalKind::command && !call.ruling.judgement.proposed_prefix.empty())
        request.proposed_prefix_rule = call.ruling.judgement.proposed_prefix;
    request.available_decisions = gate_.choices(call.plan, call.ruling, kind);
    request.display = display_of(request, call.plan.mode, call.plan.own_variables);
    request.display.notes = notes_on(request, call.plan.is_login);
    return request;
}

void ExecService::ask(std::uint64_t serial, Call& call, ApprovalKind kind) {
    call.asked_at = now_;
    audit(call, "question", std::string(json::name_of(kind)));
    // What is asked once must mean the same for all who wait: the same program in the same place.
    const std::string shared = json::strings_to_json(
        {std::string(json::name_of(kind)), call.plan.workdir, call.ruling.key});
    if (questions_.join(shared, serial) != nullptr) return;
    Question* const question = questions_.open(shared, serial);
    if (question == nullptr) {
        events_.emplace_back(
            serial, event::Refused{{ErrorKind::limit,
                                    fmt::format("the command was not run: {} questions are open",
                                                Questions::most_open),
                                    "answer some of them first"}});
        return;
    }
    question->grant_key = call.ruling.key;
    question->project = session_.project();
    question->workspace_root = gate_.root_of(call.plan.workdir);
    question->request = request_for(call, kind);
    question->request.approval_id = question->id;
    const Millis timeout = session_.settings().config.approval_timeout;
    if (timeout.count() > 0) question->deadline = now_ + timeout;
    ByteBuffer& out = outbox_.begin(Lane::priority);
    out.append(std::string_view(R"({"jsonrpc":"2.0","id":)"));
    json::write_string(out, question->id);
    out.append(std::string_view(R"(,"method":"approval/request","params":)"));
    json::write_value(out, question->request);
    out.append('}');
    outbox_.end();
}

void ExecService::carry_out(std::uint64_t serial, Call&, const effect::WithdrawQuestion&) {
    if (const std::optional<Question> question = questions_.leave(serial)) withdraw(*question);
}

void ExecService::withdraw(const Question& question) {
    protocol::CancelParams params;
    ByteBuffer id;
    json::write_string(id, question.id);
    params.id.json = id.view();
    notify(outbox_, "$/cancelRequest", params);
}

bool ExecService::on_answer(const protocol::Message& answer) {
    const std::string& id = answer.id.json;
    if (id.size() < 2 || id.front() != '"') return false;
    std::optional<Question> question =
        questions_.take(std::string_view(id).substr(1, id.size() - 2));
    if (!question) return false;
    ApprovalAnswer denial;
    denial.decision = ApprovalDecision::denied;
    if (answer.is_error) {
        denial.reason = "the client answered with an error";
        settle(*question, denial);
        return true;
    }
    Result<ApprovalAnswer> decoded = protocol::decode<ApprovalAnswer>(answer.params);
    if (!decoded) {
        denial.reason =
            fmt::format("the client's answer was not understood: {}", decoded.error().message);
    } else if (!was_offered(question->request, *decoded)) {
        denial.reason = "the client's answer was not among those that were offered";
    } else {
        denial = std::move(*decoded);
    }
    settle(*question, denial);
    return true;
}

void ExecService::settle(const Question& question, const ApprovalAnswer& answer) {
    gate_.keep(question, answer);
    if (approves(answer.decision)) {
        for (const std::uint64_t serial : question.calls)
            events_.emplace_back(serial, event::Approved{});
        return work();
    }
    const std::string reason = answer.reason ? fmt::format(": {}", *answer.reason) : "";
    refuse(question,
           {ErrorKind::denied, fmt::format("the command was not run: it was denied{}", reason),
            "do something else, or ask why"});
    if (answer.decision != ApprovalDecision::abort) return;
    while (std::optional<Question> other = questions_.take_any()) {
        withdraw(*other);
        refuse(*other, {ErrorKind::denied,
                        "the command was not run: everything that was being asked about was "
                        "aborted"});
    }
}

void ExecService::refuse(const Question& question, const Error& error) {
    for (const std::uint64_t serial : question.calls)
        events_.emplace_back(serial, event::Refused{error});
    work();
}

std::string ExecService::next_id() {
    std::string id = fmt::format("{}", next_id_++);
    while (processes_.find(id) != nullptr)
        id = fmt::format("{}", next_id_++);
    return id;
}

void ExecService::carry_out(std::uint64_t serial, Call& call, const effect::Start& start) {
    const bool was_asked = call.asked_at.has_value();
    if (was_asked) call.approval_ms += millis(now_ - *call.asked_at);
    call.asked_at.reset();
    if (Process* const before = processes_.find(call.process)) (void)take_wait_of_call(*before);
    const bool is_retry = call.attempts > 0;
    ++call.attempts;
    protocol::ExecAttemptEvent attempt;
    attempt.call_id = call.call_id;
    attempt.n = call.attempts;
    attempt.reason = is_retry ? "approved to run without a sandbox" : call.ruling.decided_by;
    if (!is_retry && was_asked) attempt.reason = "approved";
    notify(outbox_, "exec/attempt", attempt);

    const bool is_harmless =
        call.ruling.is_harmless && start.confinement != core::exec_call::Confinement::none;
    ProcessService::Launch launch = {
        spawn_request(call.plan, is_harmless, call.params.stdin_text.has_value()), 0,
        call.params.timeout_ms.value_or(0)};
    const std::string id = next_id();
    launch.exec = std::make_unique<ExecProcess>();
    ExecProcess& exec = *launch.exec;
    exec.call = serial;
    exec.begin.call_id = call.call_id;
    exec.begin.process_id = id;
    exec.begin.mode = call.plan.mode;
    exec.begin.argv = call.plan.argv;
    exec.begin.program = call.plan.program;
    exec.begin.workdir = call.plan.workdir;
    exec.begin.commands = words_of(call.ruling.judgement);
    exec.begin.decided_by = was_asked ? "client" : call.ruling.decided_by;
    if (!call.ruling.rule.empty()) exec.begin.rule = call.ruling.rule;
    exec.begin.dropped_env = call.plan.environment.dropped;
    exec.stdin_text = call.params.stdin_text;
    exec.max_tokens = call.terms.max_tokens;
    exec.approval_ms = call.approval_ms;
    exec.decided_at = now_;
    audit_start(call, exec.begin.decided_by, id);
    Result<Process*> launched = processes_.launch(id, launch);
    if (launched)
        call.process = (*launched)->serial;
    else
        events_.emplace_back(serial, event::StartFailed{launched.error()});
}

void ExecService::carry_out(std::uint64_t, Call& call, const effect::EndProgram&) {
    Process* const process = processes_.find(call.process);
    if (process == nullptr) return;
    (void)take_wait_of_call(*process);
    processes_.end(*process, 0);
}

void ExecService::carry_out(std::uint64_t, Call& call, const effect::AnswerResult&) {
    Process* const process = processes_.find(call.process);
    CHECK(process != nullptr); // it is not pruned while somebody waits for it
    std::optional<ExecWait> wait = take_wait_of_call(*process);
    CHECK(wait.has_value());
    if (call.asked_at) call.approval_ms += millis(now_ - *call.asked_at); // whether to try again
    protocol::ExecResult result = make_result(*process, *wait, now_);
    result.timings.approval_ms = call.approval_ms;
    call.reply.send(result);
}

void ExecService::carry_out(std::uint64_t, Call& call, const effect::AnswerRefused& refused) {
    audit(call, "refusal", refused.error.message);
    call.reply.fail(refused.error);
}

void ExecService::carry_out(std::uint64_t, Call& call, const effect::AnswerFailed& failed) {
    audit(call, "failure", failed.error.message);
    call.reply.send(make_failure(call.call_id, failed.error, call.terms));
}

void ExecService::carry_out(std::uint64_t, Call& call, const effect::AnswerCancelled& cancelled) {
    Process* const process = processes_.find(call.process);
    if (process != nullptr) (void)take_wait_of_call(*process);
    if (!cancelled.program_goes_on || process == nullptr)
        return call.reply.fail(
            {ErrorKind::cancelled, call.process == 0
                                       ? "the call was cancelled; nothing was started"
                                       : "the call was cancelled and the program is ended"});
    call.reply.fail(
        {ErrorKind::cancelled,
         fmt::format("the call was cancelled; its program goes on as process '{}'", process->id),
         "exec/writeStdin waits for it, exec/terminate ends it; onCancel: "
         "\"terminate\" ends it right away",
         "", process->id});
}

} // namespace ew::server
