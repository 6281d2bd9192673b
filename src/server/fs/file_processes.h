// The processes that work on files, one task at a time each. Without a sandbox they are kept for
// the next task, and a few are enough; each task in a sandbox gets one of its own.
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
    static constexpr std::size_t most_confined = 4; // of these
    // Another process is begun when those that are at work take longer: most requests take less
    // than the start of one.
    static constexpr Millis growth_pause{3};
    static constexpr Millis idle_time{10'000}; // until a process without work is ended

    struct Parts {
        os::Poller& poller;
        SandboxHost& host;
        FileTasks& tasks;
        FileHandles& handles;
        FileWatches& watches;
        FileResults& results;
        Outbox& outbox;
        std::string journal; // of the sandboxes' placeholders
    };

    explicit FileProcesses(Parts parts) : parts_(std::move(parts)) {}

    // Begins all tasks that may be begun.
    void begin_tasks();

    // Ends what works on a task, which fails. A task that is finished already is answered as it is.
    void call_off(FileTask& task, const Error& error);

    // What the loop found.
    void on_start_report(std::uint64_t serial);
    void on_socket(std::uint64_t serial);
    void on_clearing(std::uint64_t serial);

    void set_now(TimePoint now) { now_ = now; }

    void on_time();
    std::optional<TimePoint> next_deadline() const;

    bool is_empty() const { return processes_.empty(); }

    void end_idle();
    void end_all();
    std::vector<pid_t> clearing_processes() const;
    // What held places is still to be taken away.
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
    TimePoint now_;
    std::uint64_t last_serial_ = 0;
    std::vector<std::unique_ptr<FileProcess>> processes_;
};

} // namespace ew::server
