// Capabilities and descriptors: what this process, and so the command, must not have.
#pragma once

namespace ew::sandbox::init {

// All return 0 or errno.

// Has bubblewrap left none, and none to be had from a program with capabilities? Else EPERM.
int check_no_capabilities();

// For a start without bubblewrap: as many as there are, and for good.
int drop_capabilities();

int forbid_new_privileges();

// `first` to `last`, both included.
void close_range(unsigned first, unsigned last);

// All signals do what they do by default, and none is blocked.
void reset_signals();

} // namespace ew::sandbox::init
