// Starts on this machine, until the program runs or the start fails. A start in a sandbox waits
// until it is known what this machine can enforce, and may be tried again.
#pragma once

#include "base/clock.h"
#include "os/cookie.h"
#include "os/poller.h"
#include "sandbox/trial/trial.h"
#include "server/confine/sandbox_host.h"
#include "server/local/local_process.h"
#include "server/local/stream_reader.h"
#include "server/process/process_service.h"

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

struct LocalSettings {
    rlimit open_files = {}; // for programs without a limit of their own
    sandbox::TrialPlaces sandbox = {};
    std::string journal = {}; // journal of the sandboxes' placeholders
};

class LocalStarts {
public:
    LocalStarts(LocalSettings settings, ProcessService& processes, os::Poller& poller,
                StreamReader& streams, os::Cookies cookies);

    // See Backend::begin().
    Result<void> begin(Process& process, std::optional<SandboxOrder> order);

    // Handles the result of the start if it has arrived. May remove the process.
    void look_at(Process& process);

    // The report of a start was not its end: a failure is reported before the child exits.
    void watch_again(const Process& process);

    // Fails the start when nothing of it can run any more. May remove the process.
    void call_off(Process& process);

    // The placeholders for the sandbox of a failed start have been removed. Starts again, or fails
    // the start, which removes the process.
    void on_cleared(Process& process);

    // Knows what this machine can enforce.
    SandboxHost& host() { return host_; }

    void on_machine();
    void on_time();

    std::optional<TimePoint> next_deadline() const { return host_.next_deadline(); }

    // The server ends: refuses the starts that wait.
    void refuse_waiting(const Error& error);

private:
    Result<void> begin_plain(Process& process);
    Result<void> begin_confined(Process& process);
    Result<void> launch_confined(Process& process);
    void finish_plain(Process& process, const os::StartFailure& failure);
    void finish_confined(Process& process, const sandbox::Launch::Outcome& outcome);
    void take_over(Process& process, os::Spawned spawned);
    std::vector<std::uint64_t> waiting_for_machine(); // serial numbers
    void begin_waiting();

    LocalSettings settings_;
    ProcessService& processes_;
    os::Poller& poller_;
    StreamReader& streams_;
    os::Cookies cookies_;
    SandboxHost host_;
};

} // namespace ew::server
