#include "server/confine/process_sandbox.h"

#include "base/log.h"
#include "os/proc.h"
#include "sandbox/supervise/supervision.h"
#include "server/confine/placeholder_cleanup.h"
#include "server/connection/source.h"

#include <unistd.h>

#include <utility>

namespace ew::server {

namespace {

std::string_view word_of(sandbox::DenialKind kind) {
    switch (kind) {
    case sandbox::DenialKind::network: return "network";
    case sandbox::DenialKind::socket: return "socket";
    case sandbox::DenialKind::file: return "file";
    }
    return "file";
}

} // namespace

Result<void> ProcessSandbox::launch(const os::SpawnRequest& request,
                                    const sandbox::Machine& machine, std::string journal,
                                    int guarded) {
    has_mounts_ = machine.has_mounts;
    supervision_ = sandbox::supervision_of(wish_.policy, wish_.context, machine);
    journal_ = std::move(journal);
    launch_ = TRY(sandbox::Launch::begin(
        {request, wish_.policy, wish_.context, machine, journal_, guarded}, ::getpid()));
    is_launched_ = true;
    return {};
}

void ProcessSandbox::begin(os::Poller& poller, std::uint64_t serial) {
    missing_ = launch_->missing();
    notes_ = launch_->notes();
    leader_ = launch_->leader();
    first_process_ = has_mounts_ ? os::parent_of(leader_) : 0;
    UniqueFd listener = launch_->take_listener();
    if (!listener) return;
    Result<std::unique_ptr<sandbox::Supervisor>> supervisor =
        sandbox::Supervisor::start(std::move(listener), std::move(supervision_));
    if (!supervisor) { // its connects then fail, ENOSYS (seccomp_unotify(2))
        log::warning("sandbox", "connects are refused: {}", supervisor.error().message);
        return;
    }
    supervisor_ = std::move(*supervisor);
    (void)poller.watch(supervisor_->fd(), token_of(Source::supervisor, serial), os::Interest::read);
}

void ProcessSandbox::on_supervisor(TimePoint now) {
    if (supervisor_) supervisor_->on_ready(now);
}

void ProcessSandbox::on_time(TimePoint now) {
    if (supervisor_) supervisor_->on_time(now);
}

std::optional<TimePoint> ProcessSandbox::next_deadline() const {
    std::optional<TimePoint> next;
    if (supervisor_) next = supervisor_->next_deadline();
    if (clearing_) next = earlier(next, clearing_->deadline());
    return next;
}

int ProcessSandbox::wait_status(int fallback) {
    return launch_ ? launch_->wait_status().value_or(fallback) : fallback;
}

void ProcessSandbox::end(os::Poller& poller, std::uint64_t serial, TimePoint now) {
    if (supervisor_) {
        supervisor_->on_ready(now); // what was asked right before the end counts too
        denials_ = supervisor_->denials();
        supervisor_.reset();
    }
    if (launch_) clear(poller, serial, now);
    launch_.reset();
}

void ProcessSandbox::clear(os::Poller& poller, std::uint64_t serial, TimePoint now) {
    clearing_ = begin_placeholder_cleanup(launch_->take_placeholders(), journal_, now);
    if (!clearing_) return;
    (void)poller.watch(clearing_->fd(), token_of(Source::clearing, serial), os::Interest::read);
}

void ProcessSandbox::on_clearing(os::Poller& poller, TimePoint now) {
    if (!clearing_) return;
    const bool is_late = clearing_->deadline() <= now;
    if (!is_late && !clearing_->take_result()) return;
    poller.unwatch(clearing_->fd());
    clearing_.reset();
}

protocol::Confinement ProcessSandbox::to_wire() const {
    protocol::Confinement wire;
    const sandbox::GuaranteeSet missing = launch_ ? launch_->missing() : sandbox::GuaranteeSet();
    const bool has_nothing = (sandbox::needed_by(wish_.policy) - missing).empty();
    wire.type = has_nothing ? protocol::SandboxType::none : protocol::SandboxType::linux_seccomp;
    for (const sandbox::Guarantee guarantee : missing_.list())
        wire.missing.emplace_back(sandbox::name_of(guarantee));
    return wire;
}

std::vector<protocol::Denial> ProcessSandbox::denials() const {
    std::vector<protocol::Denial> list;
    const sandbox::DenialLog& log = supervisor_ ? supervisor_->denials() : denials_;
    for (const sandbox::Denial& denial : log.kept()) {
        protocol::Denial& wire = list.emplace_back();
        wire.kind = word_of(denial.kind);
        wire.operation = denial.operation;
        wire.target = denial.target;
        wire.pid = denial.pid;
        wire.program = denial.program;
        wire.count = denial.count;
        wire.rule = denial.rule;
        if (!denial.allow.empty()) wire.allow = denial.allow;
    }
    return list;
}

std::uint64_t ProcessSandbox::denial_count() const {
    return supervisor_ ? supervisor_->denials().total() : denials_.total();
}

} // namespace ew::server
