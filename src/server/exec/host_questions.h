// The questions of running programs about the hosts that they connect to. A question belongs to the
// process: it goes on after its call was answered, and is withdrawn when the process ends.
#pragma once

#include "base/clock.h"
#include "protocol/process_start.h"
#include "sandbox/gateway/host_asking.h"
#include "server/approval/host_gate.h"
#include "server/approval/questions.h"
#include "server/process/host_attendant.h"
#include "server/process/process_service.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class HostQuestions;

// Asks for one process, which owns it.
class ProcessHosts final : public sandbox::HostAsking {
public:
    ProcessHosts(HostQuestions& questions, HostCommand command, std::uint64_t process)
        : questions_(questions), command_(std::move(command)), process_(process) {}

    std::optional<sandbox::HostVerdict> known(const sandbox::HostQuestion& question) override;
    Result<void> ask(const sandbox::HostQuestion& question) override;

    std::uint64_t process() const { return process_; }

    HostCommand& command() { return command_; }

private:
    HostQuestions& questions_;
    HostCommand command_;
    std::uint64_t process_; // serial number
};

class HostQuestions final : public Asker, public HostAttendant {
public:
    // Programs cause these questions: they leave room for those about commands.
    static constexpr std::size_t most_open = Questions::most_open / 2;

    struct Parts {
        const Session& session;
        Gate& gate;
        Records& records;
        Questions& questions;
        ProcessService& processes;
        const TimePoint& now; // of the turn; the worker owns it
    };

    explicit HostQuestions(const Parts& parts);

    HostGate& gate() { return gate_; }

    Result<void> ask(ProcessHosts& hosts, const sandbox::HostQuestion& question);

    // The process, whose network is by host, asks from now on. To be called before its program
    // runs.
    void attend(Process& process, HostCommand command);

    // Implements HostAttendant. A client that can ask nobody is not helped by a person's rules: its
    // processes reach what their requests name.
    void prepare(SandboxOrder& order, bool has_proxy) override;
    void attend(Process& process, const std::string& call_id,
                const protocol::NetworkProxyRequest* proxy) override;

    // Withdraws the questions of processes that have ended, and audits which hosts those of
    // process/start have reached.
    void settle_ended();

    // Implements Asker.
    std::int64_t keep(const Question& question, const protocol::ApprovalAnswer& answer) override;
    void approve(const Question& question, const protocol::ApprovalAnswer& answer) override;
    void edit(const Question& question, const protocol::ApprovalAnswer& answer) override;
    void refuse(const Question& question, const Error& error) override;

private:
    struct Waiting {
        std::uint64_t process = 0;
        sandbox::HostQuestion question = {};
    };

    // A process of process/start whose network is by host.
    struct Started {
        std::uint64_t process = 0;
        std::string call_id = {};
        std::vector<std::string> argv = {}; // as shown
        std::string workdir = {};
    };

    void withdraw_ended();
    void audit_ended();
    ProcessHosts* hosts_of(std::uint64_t process) const;
    std::optional<Waiting> take(std::uint64_t number);
    void answer(const Waiting& waiting, const sandbox::HostVerdict& verdict);
    void answer_others();

    Parts parts_;
    HostGate gate_;
    std::map<std::uint64_t, Waiting> waiting_; // by a number that is never reused
    std::uint64_t last_ = 0;
    std::vector<Started> started_; // and not ended
};

} // namespace ew::server
