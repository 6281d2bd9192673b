// The server's side of a file process (files/wire.h), in a sandbox or without one.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "os/companion.h"
#include "os/poller.h"
#include "sandbox/run/confined_run.h"
#include "server/confine/sandbox_host.h"
#include "server/fs/file_channel.h"
#include "server/request/sandbox_request.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class FileProcess {
public:
    // Begins a process for any number of tasks, one after the other. Errors: the limit of processes
    // or descriptors is reached.
    static Result<std::unique_ptr<FileProcess>> begin(std::uint64_t serial, os::Poller& poller);

    // Begins a process for one task. `host` must know the machine. Errors: those of
    // sandbox::Launch::begin.
    static Result<std::unique_ptr<FileProcess>>
    begin_confined(std::uint64_t serial, const SandboxOrder& order, const std::string& journal,
                   SandboxHost& host, os::Poller& poller);
    ~FileProcess(); // kills the process
    FileProcess(const FileProcess&) = delete;
    FileProcess& operator=(const FileProcess&) = delete;

    std::uint64_t serial() const { return serial_; }

    bool is_confined() const { return is_confined_; }

    bool is_starting() const { return run_ && run_->is_starting(); }

    // Returns true while the process can serve: its sandbox, if it has one, is in force, and end()
    // was not called.
    bool is_ready() const { return channel_.has_value() && !ending_deadline_; }

    // The poller reports the start. Afterwards is_ready() is true or failure() is set.
    void on_start_report();

    const std::optional<Error>& failure() const { return failure_; }

    // Returns true if another process, with a new plan, may start.
    bool is_failure_passing() const { return is_failure_passing_; }

    FileChannel& channel() { return *channel_; }

    // Returns the paths of the placeholders in its sandbox.
    std::vector<std::string> stand_ins() const;

    // Sets the events of the channel that the poller reports.
    void expect(bool answers);

    // The process has answered or ended: it does nothing more by itself.
    void come_to_rest() { is_at_rest_ = true; }

    // Ends the process. Removes its placeholders when no process is left in its sandbox. Returns
    // true if nothing is left to wait for.
    bool end(TimePoint now);

    // Call it after end(), when the poller reports the process or its deadline has passed. Returns
    // true if nothing is left to wait for.
    bool go_on_ending(TimePoint now);
    std::optional<TimePoint> ending_deadline() const;

    bool is_ending() const { return ending_deadline_ || is_cleaning_up(); }

    pid_t clearing_process() const { return is_cleaning_up() ? run_->cleanup_process() : 0; }

    // Give the process a task, and take it away again. release() returns the task.
    void take(std::uint64_t task, TimePoint now);
    std::optional<std::uint64_t> release(TimePoint now);

    // Returns the serial number of its task, or nullopt if it has none.
    const std::optional<std::uint64_t>& task() const { return task_; }

    // Returns true if it can take a task. A process in a sandbox serves only the task it was begun
    // for.
    bool is_idle() const { return !is_confined_ && !task_; }

    // Returns when it got its task, or lost its last one.
    TimePoint since() const { return since_; }

private:
    FileProcess(std::uint64_t serial, os::Poller& poller) : serial_(serial), poller_(poller) {}

    void leave_poller();
    bool clear(TimePoint now);

    bool is_cleaning_up() const { return run_ && run_->is_cleaning_up(); }

    std::uint64_t serial_;
    os::Poller& poller_;
    std::optional<std::uint64_t> task_;
    TimePoint since_;
    bool is_confined_ = false;
    std::optional<os::Companion> companion_;
    std::optional<sandbox::ConfinedRun> run_;
    UniqueFd sandbox_; // pidfd of bubblewrap
    SandboxHost* host_ = nullptr;
    SandboxOrder order_;
    std::optional<Error> failure_;
    bool is_failure_passing_ = false;
    std::optional<FileChannel> channel_;
    std::optional<os::Interest> interest_; // what the poller reports of the channel
    bool is_at_rest_ = false;
    std::optional<TimePoint> ending_deadline_; // how long end() waits for the sandbox's processes
};

} // namespace ew::server
