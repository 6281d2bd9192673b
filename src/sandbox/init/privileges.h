// Removes the capabilities and descriptors that this process, and so the command, must not have.
#pragma once

namespace ew::sandbox::init {

// All return 0 or errno.

// Checks that bubblewrap has left no capability, and that no program with capabilities can give
// one. Fails with EPERM.
int check_no_capabilities();

// For a start without bubblewrap: drops all capabilities for good.
int drop_capabilities();

int forbid_new_privileges();

// `first` to `last`, both included.
void close_range(unsigned first, unsigned last);

// Resets all signals to the default action and unblocks them.
void reset_signals();

} // namespace ew::sandbox::init
