#include "server/local/process_trees.h"

#include "server/local/lost_orphans.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace ew::server {

namespace {

// How long to wait before looking again for killed processes.
constexpr Millis look_again_time{10};

// The shortest pause between looks for survivors, as a multiple of the time of the last look: a
// tree can be large.
constexpr int look_again_share = 10;

std::vector<std::int64_t> pids_of(const std::vector<os::ProcessIdentity>& processes) {
    std::vector<std::int64_t> pids;
    pids.reserve(processes.size());
    for (const os::ProcessIdentity& process : processes)
        pids.push_back(process.pid);
    return pids;
}

} // namespace

Process* ProcessTrees::find_leader(pid_t pid) {
    Process* found = nullptr;
    processes_.for_each([&](Process& process) {
        if (process.local && process.local->pid == pid && !process.exit) found = &process;
    });
    return found;
}

std::vector<pid_t> ProcessTrees::leaders() {
    std::vector<pid_t> pids;
    processes_.for_each([&](const Process& process) {
        if (process.local && process.local->pid > 0 && !process.exit)
            pids.push_back(process.local->pid);
    });
    return pids;
}

void ProcessTrees::refresh() {
    std::vector<std::uint64_t> serials;
    processes_.for_each([&](const Process& process) { serials.push_back(process.serial); });
    descendants_.refresh(leaders(), serials);
    for (const os::ProcessIdentity& orphan : descendants_.lost()) {
        const std::vector<std::uint64_t> owners = possible_owners(orphan, processes_);
        if (owners.size() == 1) descendants_.adopt(orphan.pid, owners.front());
    }
}

// Members besides the leader. The processes of a sandbox itself are left out: they are only
// signalled together with the whole sandbox, by killing `pid`.
std::vector<os::ProcessIdentity> ProcessTrees::members(const Process& process) const {
    std::vector<os::ProcessIdentity> members =
        descendants_.members(process.serial, process.exit ? 0 : process.local->pid);
    const ProcessSandbox* const sandbox = process.local->sandbox.get();
    if (sandbox != nullptr)
        std::erase_if(members, [&](const os::ProcessIdentity& member) {
            return member.pid == sandbox->first_process() || member.pid == sandbox->leader();
        });
    return members;
}

std::vector<os::ProcessIdentity> ProcessTrees::members_now(const Process& process) {
    refresh();
    return members(process);
}

std::vector<std::int64_t> ProcessTrees::descendants(const Process& process) const {
    return pids_of(members(process));
}

std::vector<pid_t> ProcessTrees::leader_and_descendants(const Process& process) const {
    std::vector<pid_t> pids = {process.local->leader()};
    for (const std::int64_t pid : descendants(process))
        pids.push_back(static_cast<pid_t>(pid));
    return pids;
}

bool ProcessTrees::has_descendants_now(const Process& process) {
    return !members_now(process).empty();
}

bool ProcessTrees::signal(const Process& process, int number, protocol::SignalScope scope) {
    using protocol::SignalScope;
    if (!process.exit && process.local->has_program_ended()) {
        // Only the process that looks at what the program has left is still there.
        const bool ends_look = number == SIGKILL && scope == SignalScope::tree;
        return ends_look && ::kill(process.local->pid, number) == 0;
    }
    // Find the members first: a signal may take away the parents by which they are found.
    std::vector<os::ProcessIdentity> others;
    if (scope != SignalScope::leader && (scope == SignalScope::tree || process.exit))
        others = members_now(process);
    const pid_t leader = process.local->leader();
    if (scope == SignalScope::group)
        std::erase_if(others, [&](const os::ProcessIdentity& other) {
            return ::getpgid(other.pid) != leader;
        });
    if (process.ending) descendants_.remember(process.serial, others);
    // The leader is not reaped yet, so its pid and its group id cannot have been reused: in a
    // sandbox the first process reports its status before.
    if (!process.exit) (void)::kill(scope == SignalScope::leader ? leader : -leader, number);
    const bool ends_sandbox =
        process.local->sandbox && number == SIGKILL && scope == SignalScope::tree;
    if (ends_sandbox && !process.exit) (void)::kill(process.local->pid, SIGKILL);
    for (const os::ProcessIdentity& other : others) {
        const bool has_got_it = !process.exit && ::getpgid(other.pid) == leader;
        if (!has_got_it) os::signal_process(other, number);
    }
    return !process.exit || !others.empty();
}

void ProcessTrees::begin_ending(Process& process, std::uint64_t grace_ms) {
    const bool is_polite = grace_ms > 0;
    if (process.ending && (is_polite || process.ending->phase == Ending::Phase::killing)) return;
    if (!process.ending) process.ending = Ending{Ending::Phase::polite};
    if (!is_polite) return kill(process);
    process.ending->kill_at = deadline_after(processes_.now(), grace_ms);
    (void)signal(process, SIGTERM, protocol::SignalScope::tree);
    // A stopped process could not end.
    (void)signal(process, SIGCONT, protocol::SignalScope::tree);
}

void ProcessTrees::kill(Process& process) {
    Ending& ending = *process.ending;
    if (ending.phase != Ending::Phase::killing)
        ending.give_up = processes_.now() + Ending::patience;
    ending.phase = Ending::Phase::killing;
    ending.kill_at.reset();
    const TimePoint begun = clock_now();
    (void)signal(process, SIGKILL, protocol::SignalScope::tree);
    const TimePoint done = clock_now();
    const auto pause =
        std::max<TimePoint::duration>(look_again_time, (done - begun) * look_again_share);
    ending.look_again = done + pause;
}

void ProcessTrees::continue_ending(Process& process) {
    Ending& ending = *process.ending;
    switch (ending.phase) {
    case Ending::Phase::calling_off_start:
        if (!is_due(ending.give_up, processes_.now())) return;
        if (process.start.reply)
            process.start.reply->fail({ErrorKind::cancelled, "the start was cancelled"});
        process.start.reply.reset();
        return finish_ending(process, {{process.local->pid, 0}});
    case Ending::Phase::polite:
        if (is_due(ending.kill_at, processes_.now())) return kill(process);
        if (process.exit && members_now(process).empty()) finish_ending(process, {});
        return;
    case Ending::Phase::killing: break;
    }
    const bool is_worth_a_look = process.exit || is_due(ending.look_again, processes_.now()) ||
                                 is_due(ending.give_up, processes_.now());
    if (!is_worth_a_look) return;
    std::vector<os::ProcessIdentity> left = members_now(process);
    if (process.exit && left.empty()) return finish_ending(process, {});
    if (is_due(ending.give_up, processes_.now())) {
        if (!process.exit) left.insert(left.begin(), {process.local->pid, 0});
        return finish_ending(process, left);
    }
    if (is_due(ending.look_again, processes_.now())) kill(process);
}

void ProcessTrees::on_time(Process& process) {
    if (is_due(next_deadline(process), processes_.now())) continue_ending(process);
}

std::optional<TimePoint> ProcessTrees::next_deadline(const Process& process) const {
    if (!process.ending) return std::nullopt;
    const Ending& ending = *process.ending;
    return earlier(earlier(ending.kill_at, ending.look_again), ending.give_up);
}

void ProcessTrees::finish_ending(Process& process,
                                 const std::vector<os::ProcessIdentity>& survivors) {
    std::vector<std::int64_t> pids = pids_of(survivors);
    // They are not killed, because they may belong to another process that goes on.
    for (const os::ProcessIdentity& orphan : descendants_.lost()) {
        const std::vector<std::uint64_t> owners = possible_owners(orphan, processes_);
        const bool is_unclear = owners.size() > 1 && os::living_process(orphan.pid) == orphan;
        if (is_unclear && std::ranges::find(owners, process.serial) != owners.end())
            pids.push_back(orphan.pid);
    }
    descendants_.forget_all_of(process.serial);
    processes_.finish_ending(process, pids);
}

void ProcessTrees::kill_everything(std::vector<pid_t> spared) const {
    const std::vector<pid_t> clearing = clearing_processes();
    spared.insert(spared.end(), clearing.begin(), clearing.end());
    for (const os::ProcessIdentity& process : os::descendants_of(::getpid()))
        if (std::ranges::find(spared, process.pid) == spared.end())
            os::signal_process(process, SIGKILL);
}

std::vector<pid_t> ProcessTrees::clearing_processes() const {
    std::vector<pid_t> clearing;
    processes_.for_each([&](const Process& process) {
        const ProcessSandbox* const sandbox =
            process.local ? process.local->sandbox.get() : nullptr;
        if (sandbox != nullptr && !sandbox->is_cleared())
            clearing.push_back(sandbox->clearing_process());
    });
    return clearing;
}

} // namespace ew::server
