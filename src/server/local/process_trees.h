// The trees of programs on this machine: their members, signals to them, and their ending.
#pragma once

#include "base/clock.h"
#include "os/cookie.h"
#include "os/proc.h"
#include "protocol/process.h"
#include "server/local/descendants.h"
#include "server/local/local_process.h"
#include "server/process/process_service.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace ew::server {

class ProcessTrees {
public:
    ProcessTrees(ProcessService& processes, os::Cookies cookies)
        : processes_(processes), descendants_(cookies) {}

    // Returns null if no running process has this leader.
    Process* find_leader(pid_t pid);
    std::vector<pid_t> leaders();

    // Brings the result of descendants() up to date.
    void refresh();

    std::vector<std::int64_t> descendants(const Process& process) const;

    // The leader, and then all below it, as they were at the last refresh().
    std::vector<pid_t> leader_and_descendants(const Process& process) const;
    bool has_descendants_now(const Process& process);

    // A child of ours has been reaped.
    void note_reaped(pid_t pid) { descendants_.forget(pid); }

    // Returns false if there was nothing to signal.
    bool signal(const Process& process, int number, protocol::SignalScope scope);

    // See Backend::begin_ending().
    void begin_ending(Process& process, std::uint64_t grace_ms);

    // Does what is due in the ending, or has become possible because a child ended.
    void continue_ending(Process& process);
    void on_time(Process& process);
    std::optional<TimePoint> next_deadline(const Process& process) const;

    // Kills every process below this one, except `spared` and the processes that clear up after the
    // sandboxes of programs.
    void kill_everything(std::vector<pid_t> spared) const;

    std::vector<pid_t> clearing_processes() const;

private:
    std::vector<os::ProcessIdentity> members(const Process& process) const;
    std::vector<os::ProcessIdentity> members_now(const Process& process);
    void kill(Process& process);
    void finish_ending(Process& process, const std::vector<os::ProcessIdentity>& survivors);

    ProcessService& processes_;
    Descendants descendants_;
};

} // namespace ew::server
