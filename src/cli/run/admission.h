// Whether `execward run` may run its command. The command is judged and recorded like a call of
// exec/command: by the same rules, approvals and policy, in the same audit. Each run is a session
// of its own.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "cli/run/run_hosts.h"
#include "core/network/proxy.h"
#include "os/spawn.h"
#include "protocol/exec_events.h"
#include "protocol/settings.h"
#include "sandbox/policy/machine.h"
#include "sandbox/supervise/denials.h"
#include "server/approval/gate.h"
#include "server/approval/records.h"
#include "server/exec/attempt.h"
#include "server/session/session.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ew::cli {

class Admission {
public:
    // `settings` are those of the command line. Errors: as Session::initialize().
    static Result<std::unique_ptr<Admission>>
    open(server::SessionSetup setup, const protocol::Settings& settings, const server::Warn& warn);
    Admission(const Admission&) = delete;
    Admission& operator=(const Admission&) = delete;
    ~Admission() = default;

    // Judges the command, asks about it on the terminal if that is needed, and records its start.
    // `machine` is null if it is not to be confined. Errors: spawn_not_found and spawn_failed about
    // the program; the reason of a refusal.
    Result<void> admit(std::vector<std::string> argv, const sandbox::Machine* machine);

    // The next functions are for an admitted command.

    // The names of variables that look like secrets and were left out. Sorted.
    std::vector<std::string> withheld() const;

    os::SpawnRequest request() const;

    std::optional<server::SandboxOrder> confinement() const {
        return server::confined_start(call_.plan, {});
    }

    // The proxies of this machine.
    core::Proxies proxies() const;

    // Asks about hosts, with a network by host. Null without one.
    std::unique_ptr<RunHosts> hosts(bool asks);

    void note_failure(const Error& error);
    void note_end(const server::ProgramEnd& end, const sandbox::DenialLog& denials,
                  const std::vector<sandbox::HostUse>& host_uses);

private:
    Admission(server::Session session, const server::Warn& warn)
        : session_(std::move(session)),
          records_(session_, warn, now_),
          gate_(session_, records_, warn) {}

    Result<void> plan(std::vector<std::string> argv);
    std::optional<Error> refusal(const sandbox::Machine* machine);
    std::optional<Error> ask(const sandbox::Machine* machine);
    std::string way_out() const;
    void audit(store::AuditRow row);

    TimePoint now_ = clock_now();
    server::Session session_;
    server::Records records_;
    server::Gate gate_;
    server::JudgedCall call_;
    protocol::ExecBeginEvent begin_; // of the admitted command
};

} // namespace ew::cli
