// Signals to trees on this machine, and ending them.
#include "core/output/utf8.h"
#include "server/local/local_backend.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace ew::server {

namespace {

constexpr std::array<int, 10> signal_numbers = {SIGINT,  SIGTERM, SIGKILL, SIGHUP,  SIGQUIT,
                                                SIGUSR1, SIGUSR2, SIGSTOP, SIGCONT, SIGWINCH};

// Killed processes are looked for again after this long.
constexpr Millis look_again_time{10};

// The share of the loop's time that looking for survivors may take: a tree can be large.
constexpr int look_again_share = 10;

std::vector<std::int64_t> pids_of(const std::vector<os::ProcessIdentity>& processes) {
    std::vector<std::int64_t> pids;
    pids.reserve(processes.size());
    for (const os::ProcessIdentity& process : processes)
        pids.push_back(process.pid);
    return pids;
}

} // namespace

// Besides the leader. What a sandbox consists of is no member: only with all of it can it be
// signalled, by killing `pid`.
std::vector<os::ProcessIdentity> LocalBackend::members_now(const Process& process) const {
    std::vector<os::ProcessIdentity> members =
        descendants_.members(process.serial, process.exit ? 0 : process.pid);
    if (process.sandbox)
        std::erase_if(members, [&](const os::ProcessIdentity& member) {
            return member.pid == process.sandbox->first_process() ||
                   member.pid == process.sandbox->leader();
        });
    return members;
}

std::vector<os::ProcessIdentity> LocalBackend::members(Process& process) {
    refresh();
    return members_now(process);
}

// Returns whether there was anything to signal.
bool LocalBackend::signal_tree(Process& process, int signal, protocol::SignalScope scope) {
    using protocol::SignalScope;
    // The tree is looked at first: a signal may make members lose the parents they are found by.
    std::vector<os::ProcessIdentity> others;
    if (scope != SignalScope::leader && (scope == SignalScope::tree || process.exit))
        others = members(process);
    const pid_t leader = process.leader();
    if (scope == SignalScope::group)
        std::erase_if(others, [&](const os::ProcessIdentity& other) {
            return ::getpgid(other.pid) != leader;
        });
    if (process.ending) descendants_.remember(process.serial, others);
    // The leader is not reaped yet, so its number and its group's cannot mean another process. (In
    // a sandbox execward-init reaps it only with its own end, on which bubblewrap's follows.)
    if (!process.exit) (void)::kill(scope == SignalScope::leader ? leader : -leader, signal);
    const bool ends_sandbox = process.sandbox && signal == SIGKILL && scope == SignalScope::tree;
    if (ends_sandbox && !process.exit) (void)::kill(process.pid, SIGKILL);
    for (const os::ProcessIdentity& other : others) {
        const bool has_got_it = !process.exit && ::getpgid(other.pid) == leader;
        if (!has_got_it) os::signal_process(other, signal);
    }
    return !process.exit || !others.empty();
}

void LocalBackend::signal(Process& process, Reply reply, const protocol::SignalParams& params) {
    const int number = signal_numbers[static_cast<std::size_t>(params.signal)];
    // An interrupt that comes after the end is a race that every client can lose.
    const bool is_interrupt = params.signal == protocol::SignalName::interrupt;
    if (signal_tree(process, number, params.scope) || is_interrupt)
        return reply.send(protocol::Empty{});
    reply.fail({ErrorKind::not_running,
                fmt::format("process '{}' has ended and left nothing to signal in this scope",
                            core::shortened(process.id)),
                "process/list shows what it left, process/read how it ended", "processId"});
}

void LocalBackend::interrupt(Process& process) {
    (void)signal_tree(process, SIGINT, protocol::SignalScope::group);
}

void LocalBackend::refresh() {
    descendants_.refresh(processes_.table().leaders());
}

std::vector<std::int64_t> LocalBackend::descendants(const Process& process) {
    return pids_of(members_now(process));
}

bool LocalBackend::has_left_overs(Process& process) {
    return !members(process).empty();
}

void LocalBackend::begin_ending(Process& process, std::uint64_t grace_ms) {
    const bool is_polite = grace_ms > 0;
    if (process.ending && (is_polite || process.ending->phase == Ending::Phase::killing)) return;
    if (!process.ending) process.ending = Ending{Ending::Phase::polite};
    if (!is_polite) return kill_tree(process);
    process.ending->kill_at = deadline_after(processes_.now(), grace_ms);
    (void)signal_tree(process, SIGTERM, protocol::SignalScope::tree);
    // A stopped process could not end.
    (void)signal_tree(process, SIGCONT, protocol::SignalScope::tree);
}

void LocalBackend::kill_tree(Process& process) {
    Ending& ending = *process.ending;
    if (ending.phase != Ending::Phase::killing)
        ending.give_up = processes_.now() + Ending::patience;
    ending.phase = Ending::Phase::killing;
    ending.kill_at.reset();
    const TimePoint begun = clock_now();
    (void)signal_tree(process, SIGKILL, protocol::SignalScope::tree);
    const TimePoint done = clock_now();
    const auto pause =
        std::max<TimePoint::duration>(look_again_time, (done - begun) * look_again_share);
    ending.look_again = done + pause;
}

void LocalBackend::continue_ending(Process& process) {
    Ending& ending = *process.ending;
    switch (ending.phase) {
    case Ending::Phase::calling_off_start:
        if (!is_due(ending.give_up, processes_.now())) return;
        if (process.start_reply)
            process.start_reply->fail({ErrorKind::cancelled, "the start was cancelled"});
        process.start_reply.reset();
        return finish_ending(process, {{process.pid, 0}});
    case Ending::Phase::polite:
        if (is_due(ending.kill_at, processes_.now())) return kill_tree(process);
        if (process.exit && members(process).empty()) finish_ending(process, {});
        return;
    case Ending::Phase::killing: break;
    }
    const bool is_worth_a_look = process.exit || is_due(ending.look_again, processes_.now()) ||
                                 is_due(ending.give_up, processes_.now());
    if (!is_worth_a_look) return;
    std::vector<os::ProcessIdentity> left = members(process);
    if (process.exit && left.empty()) return finish_ending(process, {});
    if (is_due(ending.give_up, processes_.now())) {
        if (!process.exit) left.insert(left.begin(), {process.pid, 0});
        return finish_ending(process, left);
    }
    if (is_due(ending.look_again, processes_.now())) kill_tree(process);
}

void LocalBackend::finish_ending(Process& process,
                                 const std::vector<os::ProcessIdentity>& survivors) {
    descendants_.forget_all_of(process.serial);
    processes_.finish_ending(process, pids_of(survivors));
}

void LocalBackend::kill_everything(std::vector<pid_t> spared) {
    // What clears up after sandboxes ends by itself, soon.
    std::vector<pid_t> clearing = std::move(spared);
    processes_.table().for_each([&](const Process& process) {
        if (process.sandbox && !process.sandbox->is_cleared())
            clearing.push_back(process.sandbox->clearing_process());
    });
    for (const os::ProcessIdentity& process : os::descendants_of(::getpid()))
        if (std::ranges::find(clearing, process.pid) == clearing.end())
            os::signal_process(process, SIGKILL);
}

} // namespace ew::server
