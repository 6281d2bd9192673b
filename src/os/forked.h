// What a process that was forked off without an exec does first.
#pragma once

#include <sys/types.h>

#include <vector>

namespace ew::os {

// This process is killed when its parent ends. False: that has ended already.
bool dies_with(pid_t parent);

// As a program finds them that nobody has prepared: none is blocked, SIGPIPE kills.
void reset_signals();

// Closes every descriptor from 3 on that is not among `kept`.
void close_all_but(std::vector<int> kept);

} // namespace ew::os
