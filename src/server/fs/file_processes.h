// The file processes; each works on one task at a time. A process without a sandbox is kept for the
// next task, so a few are enough. Each task in a sandbox gets a process of its own.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "os/poller.h"
#include "server/confine/sandbox_host.h"
#include "server/connection/outbox.h"
#include "server/fs/file_handles.h"
#include "server/fs/file_process.h"
#include "server/fs/file_results.h"
#include "server/fs/file_tasks.h"
#include "server/fs/file_watches.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class FileProcesses {
public:
    static constexpr std::size_t most = 16;
    static constexpr std::size_t most_confined = 4; // most processes in a sandbox
    // How long all processes must be busy before another one is begun. Most requests take less time
    // than the start of a process.
    static constexpr Millis growth_pause{3};
    static constexpr Millis idle_time{10'000}; // how long a process is kept without work

    struct Parts {
        os::Poller& poller;
        SandboxHost& host;
        FileTasks& tasks;
        FileHandles& handles;
        FileWatches& watches;
        FileResults& results;
        Outbox& outbox;
        const TimePoint& now; // of the turn; the worker owns it
        std::string journal;  // of the sandboxes' placeholders
    };

    explicit FileProcesses(Parts parts) : parts_(std::move(parts)), now_(parts_.now) {}

    // Begins all tasks that can begin.
    void begin_tasks();

    // Fails a task and ends the process that works on it. A finished task is answered with its
    // result.
    void call_off(FileTask& task, const Error& error);

    // Handle the events of the poller.
    void on_start_report(std::uint64_t serial);
    void on_socket(std::uint64_t serial);
    void on_clearing(std::uint64_t serial);

    void on_time();
    std::optional<TimePoint> next_deadline() const;

    bool is_empty() const { return processes_.empty(); }

    void end_idle();
    void end_all();
    std::vector<pid_t> clearing_processes() const;
    // Returns true while placeholders must still be removed.
    bool has_endings() const;

private:
    Result<void> begin(FileTask& task);
    Result<void> begin_confined(FileTask& task);
    void hand_to(FileProcess& process, FileTask& task);
    Result<std::vector<int>> descriptors_for(FileTask& task);
    bool has_room_for(const FileTask& task) const;
    FileProcess* find(std::uint64_t serial);
    FileProcess* find_idle() const;
    std::optional<TimePoint> next_growth() const;

    bool may_read(const FileProcess& process) const;
    void read_frames(FileProcess& process);
    bool take_frames(FileProcess& process, FileTask& task);

    void lose(FileProcess& process, const Error& error);
    void let_go(FileProcess& process);
    void go_on_ending(FileProcess& process);
    void part_with(const FileProcess& process);
    void remove(const FileProcess& process);

    Parts parts_;
    const TimePoint& now_;
    std::uint64_t last_serial_ = 0;
    std::vector<std::unique_ptr<FileProcess>> processes_;
};

} // namespace ew::server
