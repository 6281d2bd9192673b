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
    (void)::kill(process.pid, SIGKILL);
    if (process.ending) return;
    process.ending = Ending{Ending::Phase::calling_off_start};
    process.ending->give_up = now_ + give_up_time;
}

std::vector<os::ProcessIdentity> ProcessService::members(Process& process) {
    families_.refresh(table_.leaders());
    return families_.members(process.serial, process.exit ? 0 : process.pid);
}

// Returns whether there was anything to signal.
bool ProcessService::signal_tree(Process& process, int signal, protocol::SignalScope scope) {
    using protocol::SignalScope;
    // The tree is looked at first: a signal may make members lose the parents they are found by.
    std::vector<os::ProcessIdentity> others;
    if (scope != SignalScope::leader && (scope == SignalScope::tree || process.exit))
        others = members(process);
    if (scope == SignalScope::group)
        std::erase_if(others, [&](const os::ProcessIdentity& other) {
            return ::getpgid(other.pid) != process.pid;
        });
    if (process.ending) families_.remember(process.serial, others);
    // The leader is not reaped yet, so its number and its group's cannot mean another process.
    if (!process.exit)
        (void)::kill(scope == SignalScope::leader ? process.pid : -process.pid, signal);
    for (const os::ProcessIdentity& other : others) {
        const bool has_got_it = !process.exit && ::getpgid(other.pid) == process.pid;
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
    const pid_t leader = process.exit ? 0 : process.pid;
    for (const os::ProcessIdentity& member : families_.members(process.serial, leader))
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

void ProcessService::kill_everything() {
    for (const os::ProcessIdentity& process : os::descendants_of(::getpid()))
        os::signal_process(process, SIGKILL);
}

} // namespace ew::server
