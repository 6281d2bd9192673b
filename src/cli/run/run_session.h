// Runs one confined command with the caller's stdin, stdout and stderr, from its start to its end.
#pragma once

#include "base/error.h"
#include "cli/run/run_hosts.h"
#include "sandbox/gateway/host_use.h"
#include "sandbox/launch/launch.h"
#include "sandbox/supervise/denials.h"

#include <optional>
#include <vector>

namespace ew::cli {

struct RunOrder {
    sandbox::LaunchOrder launch; // run_session() sets stdin, stdout and stderr
    bool is_quiet = false;       // denials and missing guarantees are not reported
    RunHosts* hosts = nullptr;   // of a network by host
};

struct RunEnd {
    int status = 0; // the command's, 128+N if signal N ended it, or one of run_report.h
    std::optional<Error> failure = {}; // why the command has not run
    sandbox::DenialLog denials = {};
    std::vector<sandbox::HostUse> host_uses = {};
};

// Waits for the command. Reports failures and denials.
RunEnd run_session(const RunOrder& order);

} // namespace ew::cli
