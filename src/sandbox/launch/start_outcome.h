// How a start has ended, and what is told of one that has failed.
#pragma once

#include "base/error.h"
#include "os/spawn.h"
#include "sandbox/launch/start_reports.h"

#include <optional>

namespace ew::sandbox {

struct StartOutcome {
    std::optional<Error> failure = {}; // nullopt: the program runs
    // The findings about the machine say that this launch should have succeeded.
    bool contradicts_machine = false;
    // A file was moved or removed between the plan and its mounts: another launch, with another
    // plan, may succeed.
    bool is_passing = false;
};

// By a report of the kind `refused`.
StartOutcome refused_start(const StartReport& report);

// By a report of the kind `failed`. `request` is for the message.
StartOutcome failed_start(const StartReport& report, const os::SpawnRequest& request);

// It has ended without a report: by the messages of bubblewrap, which it wrote to the output of the
// program.
StartOutcome unreported_end(const os::Spawned& spawned);

} // namespace ew::sandbox
