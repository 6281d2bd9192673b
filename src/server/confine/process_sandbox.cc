#include "server/confine/process_sandbox.h"

#include "base/log.h"
#include "os/proc.h"
#include "server/confine/sandbox_host.h"
#include "server/connection/source.h"

#include <utility>

namespace ew::server {

namespace {

std::string_view word_of(sandbox::DenialKind kind) {
    switch (kind) {
    case sandbox::DenialKind::network: return "network";
    case sandbox::DenialKind::socket: return "socket";
    case sandbox::DenialKind::file: return "file";
    case sandbox::DenialKind::set_aside: return "setAside";
    }
    return "file";
}

} // namespace

std::vector<protocol::Denial> to_wire(const sandbox::DenialLog& denials) {
    std::vector<protocol::Denial> list;
    for (const sandbox::Denial& denial : denials.kept()) {
        protocol::Denial& wire = list.emplace_back();
        wire.kind = word_of(denial.kind);
        wire.operation = denial.operation;
        wire.target = denial.target;
        wire.pid = denial.pid;
        wire.program = denial.program;
        wire.count = denial.count;
        wire.rule = denial.rule;
        if (!denial.allow.empty()) wire.allow = denial.allow;
        if (!denial.moved_to.empty()) wire.moved_to = denial.moved_to;
    }
    return list;
}

Result<void> ProcessSandbox::launch(const os::SpawnRequest& request, const std::string& journal,
                                    SandboxHost& host) {
    has_mounts_ = host.machine()->has_mounts;
    sandbox::LaunchOrder order = {request, wish_.policy,           wish_.context, *host.machine(),
                                  journal, host.namespaces(wish_), host.guarded()};
    order.ready = host.ready();
    order.way_out = host.way_out(wish_.policy);
    order.walker = host.walker(order.policy);
    order.context.looks_afterwards = true;
    host.add_roots(order.context);
    run_ = TRY(sandbox::ConfinedRun::begin(std::move(order)));
    return {};
}

void ProcessSandbox::begin(os::Poller& poller, std::uint64_t serial, sandbox::HostAsking* asking) {
    first_process_ = has_mounts_ ? os::parent_of(leader()) : 0;
    if (Result<void> supervised = run_->supervise(asking); !supervised)
        log::warning("sandbox", "connects are refused: {}", supervised.error().message);
    if (run_->supervisor_fd() >= 0)
        (void)poller.watch(run_->supervisor_fd(), token_of(Source::supervisor, serial),
                           os::Interest::read);
}

void ProcessSandbox::on_supervisor(TimePoint now) {
    if (run_) run_->on_supervisor(now);
}

void ProcessSandbox::on_time(TimePoint now) {
    if (run_) run_->on_time(now);
}

std::optional<TimePoint> ProcessSandbox::next_deadline() const {
    return run_ ? run_->next_deadline() : std::nullopt;
}

int ProcessSandbox::wait_status(int fallback) {
    return run_ ? run_->wait_status().value_or(fallback) : fallback;
}

void ProcessSandbox::end(os::Poller& poller, std::uint64_t serial, TimePoint now) {
    if (!run_) return;
    if (Result<void> ended = run_->end(now); !ended)
        log::warning("sandbox", "what held places stays until the next start: {}",
                     ended.error().message);
    if (run_->is_cleaning_up())
        (void)poller.watch(run_->cleanup_fd(), token_of(Source::clearing, serial),
                           os::Interest::read);
}

void ProcessSandbox::on_clearing(os::Poller& poller, TimePoint now) {
    if (is_cleared() || !run_->is_cleanup_over(now)) return;
    poller.unwatch(run_->cleanup_fd());
    run_->drop_cleanup();
}

protocol::Confinement ProcessSandbox::to_wire() const {
    protocol::Confinement wire;
    const bool has_run = leader() != 0;
    const sandbox::GuaranteeSet missing = has_run ? run_->missing() : sandbox::GuaranteeSet();
    const bool has_nothing = (sandbox::needed_by(wish_.policy) - missing).empty();
    wire.type = has_nothing ? protocol::SandboxType::none : protocol::SandboxType::linux_seccomp;
    for (const sandbox::Guarantee guarantee : missing.list())
        wire.missing.emplace_back(sandbox::name_of(guarantee));
    return wire;
}

std::vector<protocol::Denial> ProcessSandbox::denials() const {
    return run_ ? server::to_wire(run_->denials()) : std::vector<protocol::Denial>();
}

} // namespace ew::server
