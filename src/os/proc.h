// Looking at other processes through /proc (proc(5)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::os {

// One process and no other: a number may be used again, but not with the same start time.
struct ProcessIdentity {
    pid_t pid = 0;
    std::uint64_t start_time = 0; // clock ticks since boot

    bool operator==(const ProcessIdentity&) const = default;
};

// A small file of /proc, whole; empty when it is gone.
std::string read_proc_file(const std::string& path);

// Absent: there is no such process, or it is a zombie.
std::optional<ProcessIdentity> living_process(pid_t pid);

// 0: there is no such process.
pid_t parent_of(pid_t pid);

// The direct children of a process, zombies included.
std::vector<pid_t> children_of(pid_t pid);

// `pid`'s children, their children and so on; each once, parents before children, without zombies.
std::vector<ProcessIdentity> descendants_of(pid_t pid);

// Sends the signal unless the number has come to mean another process meanwhile.
void signal_process(const ProcessIdentity& process, int signal);

} // namespace ew::os
