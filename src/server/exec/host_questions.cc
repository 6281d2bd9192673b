#include "server/exec/host_questions.h"

#include "core/text/long_words.h"
#include "os/programs.h"
#include "server/exec/attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ew::server {

namespace {

constexpr std::uint64_t longest_patience = 86'400'000; // ms: a day

// As far as it can be found.
std::string program_of(const os::SpawnRequest& request) {
    std::string_view path;
    for (const auto& [name, value] : request.environment)
        if (name == "PATH") path = value;
    Result<std::string> found = os::resolve_program(request.argv.front(), path, request.directory);
    return found ? *found : request.argv.front();
}

} // namespace

std::optional<sandbox::HostVerdict> ProcessHosts::known(const sandbox::HostQuestion& question) {
    return questions_.gate().known(command_, question);
}

Result<void> ProcessHosts::ask(const sandbox::HostQuestion& question) {
    return questions_.ask(*this, question);
}

HostQuestions::HostQuestions(const Parts& parts)
    : Asker("network", host_refusal),
      parts_(parts),
      gate_(parts.session, parts.gate, parts.records,
            parts.session.answers_questions()
                ? ""
                : "the client cannot ask: it did not declare capabilities.approvals") {}

// Commands do not share a question: what one of them runs says nothing about another.
Result<void> HostQuestions::ask(ProcessHosts& hosts, const sandbox::HostQuestion& question) {
    const Process* const process = parts_.processes.find(hosts.process());
    if (process == nullptr) return Error{ErrorKind::unknown_process, "the command has ended"};
    if (waiting_.size() >= most_open)
        return Error{ErrorKind::limit,
                     fmt::format("{}: {} questions about hosts are open", host_refusal, most_open)};
    const HostCommand& command = hosts.command();
    parts_.records.audit(HostGate::question_row(command, question));
    const std::uint64_t number = ++last_;
    TRY(parts_.questions.ask(
        *this, number, HostGate::question(command, question, process->confinement()), parts_.now));
    waiting_[number] = {hosts.process(), question};
    return {};
}

void HostQuestions::attend(Process& process, HostCommand command) {
    command.process_id = process.id;
    auto hosts = std::make_unique<ProcessHosts>(*this, std::move(command), process.serial);
    process.host_asking = hosts.get();
    process.hosts = std::move(hosts);
}

void HostQuestions::prepare(SandboxOrder& order, bool has_proxy) {
    if (!parts_.session.answers_questions() && !has_proxy) return;
    for (core::HostRule& rule : parts_.gate.host_rules())
        order.context.hosts.push_back(std::move(rule));
}

void HostQuestions::attend(Process& process, const std::string& call_id,
                           const protocol::NetworkProxyRequest* proxy) {
    const os::SpawnRequest& request = process.request;
    started_.push_back(
        {process.serial, call_id, core::shown_words(request.argv), request.directory});
    const bool answers_questions = parts_.session.answers_questions();
    const bool decides = proxy != nullptr && proxy->decision_timeout_ms; // the client, as Codex
    if (!answers_questions && !decides) return;
    parts_.records.begin_session();
    HostCommand command;
    command.call_id = call_id;
    command.argv = started_.back().argv;
    command.program = program_of(request);
    command.workdir = request.directory;
    command.extent = extent_at(request.directory, parts_.session);
    command.asks_by_policy_request = !answers_questions;
    if (decides)
        command.patience =
            Millis(std::clamp(*proxy->decision_timeout_ms, std::uint64_t{1}, longest_patience));
    attend(process, std::move(command));
}

void HostQuestions::settle_ended() {
    withdraw_ended();
    audit_ended();
}

void HostQuestions::audit_ended() {
    std::erase_if(started_, [this](const Started& started) {
        const Process* const process = parts_.processes.find(started.process);
        if (process == nullptr) return true; // it did not start
        if (!process->exit_is_logged) return false;
        for (const sandbox::HostUse& use : process->host_uses()) {
            parts_.records.begin_session();
            parts_.records.audit(host_row(started.call_id, started.argv, started.workdir, use));
        }
        return true;
    });
}

void HostQuestions::withdraw_ended() {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        const auto here = at++;
        const Process* const process = parts_.processes.find(here->second.process);
        if (process != nullptr && !process->exit_is_logged) continue;
        parts_.questions.leave(*this, here->first);
        waiting_.erase(here);
    }
}

std::int64_t HostQuestions::keep(const Question& question, const protocol::ApprovalAnswer& answer) {
    return parts_.records.keep(question, answer);
}

ProcessHosts* HostQuestions::hosts_of(std::uint64_t process) const {
    const Process* const found = parts_.processes.find(process);
    return found != nullptr ? found->hosts.get() : nullptr;
}

std::optional<HostQuestions::Waiting> HostQuestions::take(std::uint64_t number) {
    const auto at = waiting_.find(number);
    if (at == waiting_.end()) return std::nullopt;
    Waiting waiting = std::move(at->second);
    waiting_.erase(at);
    return waiting;
}

void HostQuestions::answer(const Waiting& waiting, const sandbox::HostVerdict& verdict) {
    Process* const process = parts_.processes.find(waiting.process);
    if (process != nullptr) process->backend->answer_host(*process, waiting.question.id, verdict);
}

void HostQuestions::approve(const Question& question, const protocol::ApprovalAnswer& /*answer*/) {
    for (const std::uint64_t number : question.calls) {
        const std::optional<Waiting> waiting = take(number);
        ProcessHosts* const hosts = waiting ? hosts_of(waiting->process) : nullptr;
        if (hosts != nullptr) answer(*waiting, gate_.allowed(hosts->command(), waiting->question));
    }
    answer_others();
}

// Not offered.
void HostQuestions::edit(const Question& question, const protocol::ApprovalAnswer& /*answer*/) {
    refuse(question, {ErrorKind::denied, fmt::format("{}: it has no command", host_refusal)});
}

void HostQuestions::refuse(const Question& question, const Error& error) {
    for (const std::uint64_t number : question.calls) {
        const std::optional<Waiting> waiting = take(number);
        ProcessHosts* const hosts = waiting ? hosts_of(waiting->process) : nullptr;
        if (hosts != nullptr)
            answer(*waiting, HostGate::refused(hosts->command(), waiting->question, error));
    }
}

// An answer for the session also answers what other commands ask about that host.
void HostQuestions::answer_others() {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        const auto here = at++;
        ProcessHosts* const hosts = hosts_of(here->second.process);
        if (hosts == nullptr) continue;
        const std::optional<sandbox::HostVerdict> verdict = hosts->known(here->second.question);
        if (!verdict || !verdict->is_allowed) continue;
        const Waiting waiting = std::move(here->second);
        parts_.questions.leave(*this, here->first);
        waiting_.erase(here);
        answer(waiting, *verdict);
    }
}

} // namespace ew::server
