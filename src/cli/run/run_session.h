// Runs one confined command with the caller's stdin, stdout and stderr, from its start to its end.
#pragma once

#include "base/error.h"
#include "sandbox/launch/launch.h"
#include "sandbox/supervise/denials.h"

#include <optional>

namespace ew::cli {

// Exit statuses of execward itself, as in env(1) and timeout(1). A command may return the same
// ones.
constexpr int status_not_confined = 125; // usage, or the command could not be confined
constexpr int status_not_executable = 126;
constexpr int status_not_found = 127;

struct RunOrder {
    sandbox::LaunchOrder launch; // run_session() sets stdin, stdout and stderr
    bool is_quiet = false;       // denials and missing guarantees are not reported
};

struct RunEnd {
    int status = 0; // the command's, 128+N if signal N ended it, or one of the above
    std::optional<Error> failure = {}; // why the command has not run
    sandbox::DenialLog denials = {};
};

// Waits for the command. Reports failures and denials.
RunEnd run_session(RunOrder order);

// Returns the exit status for a command that has not run.
int status_of_failure(const Error& failure);

} // namespace ew::cli
