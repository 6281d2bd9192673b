// Signals to trees, and ending them.
#include "server/process_service.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace ew::server {

namespace {

// Killed processes are looked for again after this long, and named as survivors after that long.
constexpr Millis look_again_time{10};
constexpr Millis give_up_time{2000};

// The share of the loop's time that looking for survivors may take: a tree can be large.
constexpr int look_again_share = 10;

} // namespace

// The start is still under way: both requests are answered when the child is gone, or when it
// proves to hang in a directory that does not answer.
void ProcessService::cancel_start(Process& process) {
    process.start_is_cancelled = true;
    const bool waits_for_machine = process.sandbox && !process.sandbox->is_launched();
    if (waits_for_machine)
        return fail_start(process, {ErrorKind::cancelled, "the start was cancelled"});
    const bool is_reaped = process.early_end || process.start_failure;
    if (is_reaped) return (void)expect_end(process);
    (void)::kill(process.pid, SIGKILL);
    // Until bubblewrap's second process has asked to die with the first, only the group has both.
    if (process.sandbox) (void)::kill(-process.pid, SIGKILL);
    (void)expect_end(process);
}

// Whoever waits for the end of a start is told by finish_ending().
Ending& ProcessService::expect_end(Process& process) {
    if (process.ending) return *process.ending;
    process.ending = Ending{Ending::Phase::calling_off_start};
    process.ending->give_up = now_ + give_up_time;
    return *process.ending;
}

// Besides the leader. What a sandbox consists of is no member: only with all of it can it be
// signalled, by killing `pid`.
std::vector<os::ProcessIdentity> ProcessService::members_now(const Process& process) const {
    std::vector<os::ProcessIdentity> members =
        families_.members(process.serial, process.exit ? 0 : process.pid);
    if (process.sandbox)
        std::erase_if(members, [&](const os::ProcessIdentity& member) {
            return member.pid == process.sandbox->first_process() ||
                   member.pid == process.sandbox->leader();
        });
    return members;
}

std::vector<os::ProcessIdentity> ProcessService::members(Process& process) {
    families_.refresh(table_.leaders());
    return members_now(process);
}

// Returns whether there was anything to signal.
bool ProcessService::signal_tree(Process& process, int signal, protocol::SignalScope scope) {
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
    if (process.ending) families_.remember(process.serial, others);
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

bool ProcessService::interrupt(Process& process) {
    return signal_tree(process, SIGINT, protocol::SignalScope::group);
}

void ProcessService::end(Process& process, std::uint64_t grace_ms) {
    if (process.is_starting()) return cancel_start(process);
    begin_ending(process, grace_ms);
}

std::vector<std::int64_t> ProcessService::descendants(const Process& process) {
    std::vector<std::int64_t> pids;
    for (const os::ProcessIdentity& member : members_now(process))
        pids.push_back(member.pid);
    return pids;
}

void ProcessService::begin_ending(Process& process, std::uint64_t grace_ms) {
    const bool is_polite = grace_ms > 0;
    if (process.ending && (is_polite || process.ending->phase == Ending::Phase::killing)) return;
    if (!process.ending) process.ending = Ending{Ending::Phase::polite};
    if (!is_polite) return kill_tree(process);
    process.ending->kill_at = deadline_after(now_, grace_ms);
    (void)signal_tree(process, SIGTERM, protocol::SignalScope::tree);
    // A stopped process could not end.
    (void)signal_tree(process, SIGCONT, protocol::SignalScope::tree);
}

void ProcessService::kill_tree(Process& process) {
    Ending& ending = *process.ending;
    if (ending.phase != Ending::Phase::killing) ending.give_up = now_ + give_up_time;
    ending.phase = Ending::Phase::killing;
    ending.kill_at.reset();
    const TimePoint begun = clock_now();
    (void)signal_tree(process, SIGKILL, protocol::SignalScope::tree);
    const TimePoint done = clock_now();
    const auto pause =
        std::max<TimePoint::duration>(look_again_time, (done - begun) * look_again_share);
    ending.look_again = done + pause;
}

void ProcessService::continue_ending(Process& process) {
    Ending& ending = *process.ending;
    switch (ending.phase) {
    case Ending::Phase::calling_off_start:
        if (!is_due(ending.give_up, now_)) return;
        if (process.start_reply)
            process.start_reply->fail({ErrorKind::cancelled, "the start was cancelled"});
        process.start_reply.reset();
        return finish_ending(process, {{process.pid, 0}});
    case Ending::Phase::polite:
        if (is_due(ending.kill_at, now_)) return kill_tree(process);
        if (process.exit && members(process).empty()) finish_ending(process, {});
        return;
    case Ending::Phase::killing: break;
    }
    const bool is_worth_a_look =
        process.exit || is_due(ending.look_again, now_) || is_due(ending.give_up, now_);
    if (!is_worth_a_look) return;
    std::vector<os::ProcessIdentity> left = members(process);
    if (process.exit && left.empty()) return finish_ending(process, {});
    if (is_due(ending.give_up, now_)) {
        if (!process.exit) left.insert(left.begin(), {process.pid, 0});
        return finish_ending(process, left);
    }
    if (is_due(ending.look_again, now_)) kill_tree(process);
}

void ProcessService::finish_ending(Process& process,
                                   const std::vector<os::ProcessIdentity>& survivors) {
    Ending ending = std::move(*process.ending);
    process.ending.reset();
    families_.forget_all_of(process.serial);
    protocol::TerminateResult result;
    for (const os::ProcessIdentity& survivor : survivors)
        result.survivors.push_back(survivor.pid);
    for (Ending::Waiter& waiter : ending.waiters) {
        result.running = waiter.was_running;
        waiter.reply.send(result);
    }
    process.is_tree_gone = process.exit && survivors.empty();
    settle(process);
}

void ProcessService::kill_everything(std::vector<pid_t> spared) {
    // What clears up after sandboxes ends by itself, soon.
    std::vector<pid_t> clearing = std::move(spared);
    table_.for_each([&](const Process& process) {
        if (process.sandbox && !process.sandbox->is_cleared())
            clearing.push_back(process.sandbox->clearing_process());
    });
    for (const os::ProcessIdentity& process : os::descendants_of(::getpid()))
        if (std::ranges::find(clearing, process.pid) == clearing.end())
            os::signal_process(process, SIGKILL);
}

} // namespace ew::server
