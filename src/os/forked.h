// What a process that was forked off without an exec does first.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <vector>

namespace ew::os {

// This process gets `signal` when its parent ends. False: that has ended already.
bool dies_with(pid_t parent, int signal = SIGKILL);

// As a program finds them that nobody has prepared: none is blocked, SIGPIPE kills.
void reset_signals();

// Closes every descriptor from 3 on that is not among `kept`.
void close_all_but(std::vector<int> kept);

} // namespace ew::os
