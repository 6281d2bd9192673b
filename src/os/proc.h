// Looking at other processes through /proc (proc(5)).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace ew::os {

// A small file of /proc, whole; empty when it is gone.
std::string read_proc_file(const std::string& path);

// The direct children of a process, zombies included.
std::vector<pid_t> children_of(pid_t pid);

// `pid`'s children, their children and so on; each once, parents before children, without zombies.
std::vector<pid_t> descendants_of(pid_t pid);

bool is_alive(pid_t pid); // exists and is no zombie

} // namespace ew::os
