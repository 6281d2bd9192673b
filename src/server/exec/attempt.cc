#include "server/exec/attempt.h"

#include "core/network/proxy.h"
#include "core/text/long_words.h"
#include "json/strings.h"
#include "protocol/policy.h"
#include "server/environment/remote_plan.h"
#include "server/environment/remote_process.h"
#include "server/exec/exec_results.h"
#include "store/host_detail.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace ew::server {

using core::SandboxPermissions;
using core::exec_call::Bounds;

namespace {

std::vector<std::vector<std::string>> words_of(const core::Judgement& judgement) {
    std::vector<std::vector<std::string>> commands;
    for (const core::CommandVerdict& verdict : judgement.commands)
        commands.push_back(verdict.words);
    return commands;
}

} // namespace

Attempt first_attempt(const JudgedCall& call, bool was_asked) {
    Attempt attempt;
    attempt.extra = call.plan.extra;
    attempt.hardening = call.ruling.hardening;
    attempt.decided_by = was_asked ? "client" : call.ruling.decided_by;
    attempt.reason = was_asked ? "approved" : call.ruling.decided_by;
    if (!was_asked && !call.ruling.rule.empty()) attempt.rule = call.ruling.rule;
    return attempt;
}

ExtraPermissions extra_again(const Call& call, Bounds bounds) {
    if (bounds == Bounds::none) return {SandboxPermissions::require_escalated, {}};
    return {SandboxPermissions::with_additional_permissions,
            together(call.plan.extra.additions, call.widening.value_or(sandbox::Additions{}))};
}

Attempt next_attempt(const Call& call, Bounds bounds, bool was_asked) {
    if (call.attempts == 0) return first_attempt(call, was_asked);
    Attempt attempt;
    attempt.extra = extra_again(call, bounds);
    attempt.decided_by = was_asked ? "client" : "grant";
    attempt.reason = "approved";
    if (!was_asked) {
        attempt.rule = call.allowed_by;
        attempt.reason = fmt::format("allowed before ({})", call.allowed_by);
    }
    attempt.reason += bounds == Bounds::none
                          ? std::string(" to run again without a sandbox")
                          : fmt::format(" to run again in the sandbox, where it may also {}",
                                        described(*call.widening));
    return attempt;
}

ProcessService::Launch launch_of(const Call& call, const Attempt& attempt) {
    ProcessService::Launch launch;
    launch.request =
        spawn_request(call.plan, attempt.hardening, call.params.stdin_text.has_value());
    if (call.plan.remote) {
        auto order = std::make_unique<RemoteStart>(remote_start(call.plan, attempt.extra));
        launch.is_confined_there = order->sandbox.has_value();
        launch.elsewhere = std::move(order);
    } else {
        launch.sandbox = confined_start(call.plan, attempt.extra);
    }
    launch.timeout_ms = call.params.timeout_ms.value_or(0);
    launch.answers_queries = call.params.answer_queries;
    return launch;
}

// The names of variables that the program does not get, sorted.
std::vector<std::string> dropped_variables(const JudgedCall& call, const Attempt& attempt) {
    std::vector<std::string> names = call.plan.environment.dropped;
    const bool is_hardened = attempt.hardening == core::Hardening::all;
    const bool is_by_host = has_network_by_host(call.plan, attempt.extra);
    if (!is_hardened && !is_by_host) return names;
    if (is_hardened)
        for (const std::string& variable : call.plan.own_variables)
            names.push_back(variable.substr(0, variable.find('=')));
    if (is_by_host) // see sandbox/launch/launch.cc
        for (const auto& [name, value] : call.plan.environment.variables)
            if (core::is_proxy_variable(name)) names.push_back(name);
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

protocol::ExecBeginEvent begin_event(const JudgedCall& call, const Attempt& attempt,
                                     const std::string& process_id) {
    protocol::ExecBeginEvent begin;
    begin.call_id = call.call_id;
    begin.process_id = process_id;
    begin.environment = call.plan.environment_id();
    begin.mode = call.plan.mode;
    begin.argv = core::shown_words(call.plan.argv);
    begin.program = call.plan.program;
    begin.workdir = call.plan.workdir;
    begin.commands = words_of(call.ruling.judgement);
    begin.decided_by = attempt.decided_by;
    begin.rule = attempt.rule;
    begin.dropped_env = dropped_variables(call, attempt);
    return begin;
}

HostCommand host_command(const JudgedCall& call, const ApprovalExtent& extent) {
    HostCommand command;
    command.call_id = call.call_id;
    command.argv = core::shown_words(call.plan.argv);
    command.is_script = call.plan.mode != protocol::ExecMode::direct;
    command.program = call.plan.program;
    command.workdir = call.plan.workdir;
    command.extent = extent;
    return command;
}

std::unique_ptr<ExecProcess> exec_process_of(const Call& call, const Attempt& attempt,
                                             const std::string& process_id) {
    auto exec = std::make_unique<ExecProcess>();
    exec->begin = begin_event(call, attempt, process_id);
    exec->stdin_text = call.params.stdin_text;
    exec->max_tokens = call.terms.max_tokens;
    exec->approval_ms = call.approval_ms;
    return exec;
}

protocol::ExecAttemptEvent attempt_event(const Call& call, const Attempt& attempt,
                                         protocol::SandboxType expected) {
    protocol::ExecAttemptEvent event;
    event.call_id = call.call_id;
    event.n = call.attempts;
    event.confinement = expected;
    event.reason = attempt.reason;
    return event;
}

store::AuditRow start_row(const JudgedCall& call, const Attempt& attempt,
                          const std::string& process_id, const protocol::Confinement& expected) {
    const bool is_confined = expected.type != protocol::SandboxType::none;
    const std::string more = described(attempt.extra.additions);
    store::AuditRow row;
    row.call = call.call_id;
    row.event = "start";
    row.argv = json::strings_to_json(core::shown_words(call.plan.argv));
    row.directory = call.plan.workdir;
    row.decision = json::name_of(core::Decision::allow);
    row.decided_by = attempt.decided_by;
    row.rule = attempt.rule.value_or("");
    const std::string where =
        call.plan.remote ? fmt::format("environment {}, ", call.plan.remote->environment) : "";
    row.detail =
        fmt::format("{}process {}, attempt {}, sandbox: {}{}{}", where, process_id, call.attempts,
                    text_of(expected), is_confined && !more.empty() ? ", and it may " : "",
                    is_confined ? more : "");
    return row;
}

store::AuditRow denial_row(const protocol::ExecBeginEvent& begin, std::uint64_t count,
                           const std::vector<protocol::Denial>& denials) {
    store::AuditRow row;
    row.call = begin.call_id;
    row.event = "denial";
    row.argv = json::strings_to_json(begin.argv);
    row.directory = begin.workdir;
    row.decision = fmt::format("{}", count);
    row.decided_by = "sandbox";
    row.detail = fmt::format("process {}: {}", begin.process_id, summary_of(denials));
    return row;
}

store::AuditRow host_row(const std::string& call_id, const std::vector<std::string>& argv,
                         const std::string& workdir, const sandbox::HostUse& use) {
    store::AuditRow row;
    row.call = call_id;
    row.event = "network";
    row.argv = json::strings_to_json(argv);
    row.directory = workdir;
    row.decision = use.there.text();
    row.decided_by = use.rule == "answer"             ? "client"
                     : use.rule.starts_with("grant ") ? "grant"
                                                      : "rule";
    row.rule = use.rule;
    row.detail = store::to_detail({use.connections, use.sent, use.received, use.program});
    return row;
}

store::AuditRow exit_row(const protocol::ExecBeginEvent& begin, const ProgramEnd& end) {
    store::AuditRow row;
    row.call = begin.call_id;
    row.event = "exit";
    row.decision = fmt::format("{}", end.code);
    const std::string peak =
        end.peak_rss_bytes ? fmt::format(", peak memory {} bytes", *end.peak_rss_bytes) : "";
    row.detail = fmt::format("process {} after {} ms{}, sandbox: {}", begin.process_id, end.wall_ms,
                             peak, text_of(begin.sandbox));
    if (end.failure) row.detail += fmt::format(", {}", end.failure->message);
    return row;
}

} // namespace ew::server
