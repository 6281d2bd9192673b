#include "server/exec/host_questions.h"

#include "server/exec/exec_process.h"

#include <fmt/format.h>

#include <utility>

namespace ew::server {

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

void HostQuestions::end(std::uint64_t process) {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        const auto here = at++;
        if (here->second.process != process) continue;
        parts_.questions.leave(*this, here->first);
        waiting_.erase(here);
    }
}

std::int64_t HostQuestions::keep(const Question& question, const protocol::ApprovalAnswer& answer) {
    return parts_.records.keep(question, answer);
}

ProcessHosts* HostQuestions::hosts_of(std::uint64_t process) const {
    const Process* const found = parts_.processes.find(process);
    return found != nullptr && found->exec ? found->exec->hosts.get() : nullptr;
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
