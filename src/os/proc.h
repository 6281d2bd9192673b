// Information about other processes from /proc (proc(5)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::os {

// Identifies one process. The kernel may reuse a pid, but not with the same start time.
struct ProcessIdentity {
    pid_t pid = 0;
    std::uint64_t start_time = 0; // clock ticks since boot

    bool operator==(const ProcessIdentity&) const = default;
};

// Reads a small file of /proc. Returns an empty string if it is gone.
std::string read_proc_file(const std::string& path);

// Returns nullopt if there is no such process, or if it is a zombie.
std::optional<ProcessIdentity> living_process(pid_t pid);

// Returns the letter of ps(1) for the state of a thread, or 0 if there is no such thread.
char state_of_thread(pid_t process, pid_t thread);

// Returns 0 if there is no such process.
pid_t parent_of(pid_t pid);

// Returns true if this process has children, including zombies. Needs one system call and no /proc.
bool has_children();

// The direct children of a process, including zombies.
std::vector<pid_t> children_of(pid_t pid);

// All descendants of `pid` without zombies; each once, parents before children.
std::vector<ProcessIdentity> descendants_of(pid_t pid);

// Returns what the descriptors of a process lead to, as in /proc/PID/fd: "pipe:[7]", "/dev/pts/0".
std::vector<std::string> open_files_of(pid_t pid);

// Sends the signal, unless the pid now belongs to another process.
void signal_process(const ProcessIdentity& process, int signal);

} // namespace ew::os
