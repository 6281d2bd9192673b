// A file process (files/wire.h) at work for the server, in a sandbox or not.
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
    // Serves any number of tasks, one after the other. Errors: no more processes or descriptors.
    static Result<std::unique_ptr<FileProcess>> begin(std::uint64_t serial, os::Poller& poller);

    // Serves one. `host` knows the machine. Errors: as sandbox::Launch::begin.
    static Result<std::unique_ptr<FileProcess>>
    begin_confined(std::uint64_t serial, const SandboxOrder& order, const std::string& journal,
                   SandboxHost& host, os::Poller& poller);
    ~FileProcess(); // kills it
    FileProcess(const FileProcess&) = delete;
    FileProcess& operator=(const FileProcess&) = delete;

    std::uint64_t serial() const { return serial_; }

    bool is_confined() const { return is_confined_; }

    bool is_starting() const { return run_ && run_->is_starting(); }

    // The sandbox is in force, or none was wanted, and it has not been ended.
    bool is_ready() const { return channel_.has_value() && !ending_deadline_; }

    // The poller reports its start. Afterwards it is ready, or failure() is there.
    void on_start_report();

    const std::optional<Error>& failure() const { return failure_; }

    // Another one, with another plan, may start.
    bool is_failure_passing() const { return is_failure_passing_; }

    FileChannel& channel() { return *channel_; }

    // What in its sandbox stands in for what is missing.
    std::vector<std::string> stand_ins() const;

    // What the poller is to report of the channel.
    void expect(bool answers);

    // It has answered, or has ended: of itself it does nothing any more.
    void come_to_rest() { is_at_rest_ = true; }

    // Ends it; when nothing of its sandbox is left, what held places for it is taken away. True:
    // nothing is left to wait for.
    bool end(TimePoint now);

    // The poller reports something of one that has been ended, or its deadline has come. True:
    // nothing is left to wait for.
    bool go_on_ending(TimePoint now);
    std::optional<TimePoint> ending_deadline() const;

    bool is_ending() const { return ending_deadline_ || is_cleaning_up(); }

    pid_t clearing_process() const { return is_cleaning_up() ? run_->cleanup_process() : 0; }

    // It works on this task from now on, or on none any more. release() returns the task.
    void take(std::uint64_t task, TimePoint now);
    std::optional<std::uint64_t> release(TimePoint now);

    // Serial of the task it works on.
    const std::optional<std::uint64_t>& task() const { return task_; }

    // It can take a task. One in a sandbox serves the task it was begun for.
    bool is_idle() const { return !is_confined_ && !task_; }

    // Since when it has worked on its task, or has had none.
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
    std::optional<Error> failure_;
    bool is_failure_passing_ = false;
    std::optional<FileChannel> channel_;
    std::optional<os::Interest> interest_; // what the poller reports of the channel
    bool is_at_rest_ = false;
    std::optional<TimePoint> ending_deadline_; // until when the sandbox's processes are waited for
};

} // namespace ew::server
