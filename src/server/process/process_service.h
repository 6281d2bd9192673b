// The life of programs, wherever they run, and what the client is told of it: how they are started,
// fed, read and ended is up to their backend. The requests process/* are in process_requests.
#pragma once

#include "base/clock.h"
#include "server/connection/outbox.h"
#include "server/process/backend.h"
#include "server/process/output_delivery.h"
#include "server/process/process_table.h"
#include "server/request/sandbox_request.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::server {

struct ProcessSettings {
    SandboxSelection selection = SandboxSelection::automatic;
    core::OutputLimits output = {};
    std::optional<Millis> close_grace =
        {}; // absent: `closed` waits for the streams as long as it takes
};

class ProcessService {
public:
    // `now` is the time of this turn of the loop. It and `outbox` outlive the service.
    ProcessService(ProcessSettings settings, Outbox& outbox, const TimePoint& now)
        : settings_(std::move(settings)), outbox_(outbox), now_(now), delivery_(outbox, now) {}

    // Of this machine: where everything starts that names no other. Set before the first request.
    void set_local(Backend& backend) { local_ = &backend; }

    // Handles the requests that came while a start was under way. Set before the first request.
    using ParkedHandler = std::function<void(std::vector<Parked>)>;

    void set_parked_handler(ParkedHandler handler) { handle_parked_ = std::move(handler); }

    void set_client_wants_extensions(bool wants) { wants_extensions_ = wants; }

    // Starts a program under a free `id`; `request` lacks only what its backend adds. Errors:
    // too_many_processes, denied, sandbox_unavailable, and those of the backend. What comes of it
    // is told by take_news() and take_failed_starts().
    struct Launch {
        os::SpawnRequest request;
        std::optional<SandboxOrder> sandbox = {}; // on this machine
        std::uint64_t grace_ms = 0;
        std::uint64_t timeout_ms = 0; // 0: none
        std::optional<Reply> reply = {};
        Backend* backend = nullptr;       // null: this machine
        bool is_confined_there = false;   // by that backend
        Part<RemoteStart> elsewhere = {}; // what that backend needs
        Part<ExecProcess> exec = {};      // null: it is none of exec/command
        Consumer* consumer = nullptr;     // the same
    };

    // On an error `launch` keeps its reply.
    Result<Process*> launch(std::string id, Launch& launch);

    Process* find(std::string_view id) { return table_.find(id); }

    Process* find(std::uint64_t serial) { return table_.find(serial); }

    ProcessTable& table() { return table_; }

    template <class Function>
    void for_each(Function function) {
        table_.for_each(function);
    }

    OutputDelivery& delivery() { return delivery_; }

    TimePoint now() const { return now_; }

    // Serials of processes with a consumer that started, put something out, or ended since the last
    // call.
    std::vector<std::uint64_t> take_news() { return std::exchange(news_, {}); }

    struct FailedStart {
        std::uint64_t call = 0; // of the exec layer
        Error error = {};
    };

    std::vector<FailedStart> take_failed_starts() { return std::exchange(failed_starts_, {}); }

    // Takes a write for which there is room. The caller lets the backend write then.
    void take_write(Process& process, Reply reply, protocol::WriteParams params);

    // Returns false if there is no room for these bytes, and nothing was added.
    bool type(Process& process, std::string_view bytes);
    void end_input(Process& process);

    void end(Process& process, std::uint64_t grace_ms);
    void call_off_start(Process& process);

    void on_time();
    std::optional<TimePoint> next_deadline();

    // Output that could not be delivered for want of room. Returns true if some of it could be now.
    bool deliver_pending();
    bool has_undelivered();

    // What backends tell.

    // It runs: sends the answer to its start, and lets what waited for that take effect. The
    // backend has opened its input, and set is_output_open.
    void begin_running(Process& process);

    // Nothing of it has run, or runs any more. The process is gone after this.
    void fail_start(Process& process, Error error);

    // The leader has ended. Output can still come; settle() tells what there is to tell.
    void note_exit(Process& process, Exit exit);

    // Brings everything that follows from new output or from the exit up to date.
    void settle(Process& process);

    // Nothing can be written to it any more.
    void close_input(Process& process);

    // The queue of its input has become shorter.
    void release_held_writes(Process& process);

    // A start is called off: whoever waits for its end is told by finish_ending() or fail_start().
    Ending& expect_end(Process& process);

    // The tree has ended, but for `survivors`.
    void finish_ending(Process& process, const std::vector<std::int64_t>& survivors);

    // Nobody knows whether it has.
    void fail_ending(Process& process, const Error& error);

private:
    Result<void> check_selection(const Launch& launch) const;
    void warn_when_nearly_full();
    void handle_parked(std::vector<Parked> parked);
    void tell_exit_if_drained(Process& process);
    void close_if_ended(Process& process);
    void note_news(const Process& process);
    void check_timers(Process& process);

    const ProcessSettings settings_;
    Outbox& outbox_;
    const TimePoint& now_;
    OutputDelivery delivery_;
    ProcessTable table_;
    Backend* local_ = nullptr;
    ParkedHandler handle_parked_;
    bool wants_extensions_ = false;
    bool has_warned_ = false;
    std::size_t next_to_deliver_ = 0; // place that is first to use room in the outbox
    std::vector<std::uint64_t> news_; // serials
    std::vector<FailedStart> failed_starts_;
};

} // namespace ew::server
