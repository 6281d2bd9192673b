// One confined command at the caller's stdin, stdout and stderr, from its start to its end.
#pragma once

#include "sandbox/launch/launch.h"

#include <string>

namespace ew::cli {

// Exit statuses of our own, as in env(1) and timeout(1): the command's may be equal.
constexpr int status_not_confined = 125; // usage, or the command could not be confined
constexpr int status_not_executable = 126;
constexpr int status_not_found = 127;

struct RunOrder {
    sandbox::LaunchOrder launch; // stdin, stdout and stderr are decided here
    bool is_quiet = false;       // no word about what was refused or is missing
};

// Waits for the command. Returns the exit status: the command's, 128+N if signal N ended it, or one
// of the above.
int run_session(RunOrder order);

} // namespace ew::cli
