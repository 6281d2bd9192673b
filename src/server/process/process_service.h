// The life of processes in all environments, and what is reported to the client about them. The
// backend of a process starts, feeds, reads and ends its program. The requests process/* are in
// process_requests.
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
        {}; // nullopt: `closed` waits for the streams without a limit
};

class ProcessService {
public:
    // `now` is the time of this turn of the loop. It and `outbox` outlive the service.
    ProcessService(const ProcessSettings& settings, Outbox& outbox, const TimePoint& now)
        : settings_(settings), outbox_(outbox), now_(now), delivery_(outbox, now) {}

    // The backend of this machine, for starts that name no environment. Set before the first
    // request.
    void set_local(Backend& backend) { local_ = &backend; }

    // Handles the requests that came while a start was under way. Set before the first request.
    using ParkedHandler = std::function<void(std::vector<Parked>)>;

    void set_parked_handler(ParkedHandler handler) { handle_parked_ = std::move(handler); }

    void set_client_wants_extensions(bool wants) { wants_extensions_ = wants; }

    // Starts a program under a free `id`; `request` lacks only what its backend adds. Errors:
    // too_many_processes, denied, sandbox_unavailable, and those of the backend. take_news() and
    // take_failed_starts() report the result.
    struct Launch {
        os::SpawnRequest request;
        std::optional<SandboxOrder> sandbox = {}; // on this machine
        std::uint64_t grace_ms = 0;
        std::uint64_t timeout_ms = 0; // 0: no timeout
        bool answers_queries = false; // we are the terminal of the program
        std::optional<Reply> reply = {};
        Backend* backend = nullptr;       // null: this machine
        bool is_confined_there = false;   // by the backend of another environment
        Part<RemoteStart> elsewhere = {}; // what the backend of another environment needs
        Part<ExecProcess> exec = {};      // null: not started by exec/command
        Consumer* consumer = nullptr;     // the consumer side of `exec`
    };

    // After an error, `launch` still holds its reply.
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

    const Outbox& outbox() const { return outbox_; }

    // Serial numbers of processes with a consumer that have started, produced output or ended since
    // the last call.
    std::vector<std::uint64_t> take_news() { return std::exchange(news_, {}); }

    struct FailedStart {
        std::uint64_t call = 0; // serial number in the exec layer
        Error error = {};
    };

    std::vector<FailedStart> take_failed_starts() { return std::exchange(failed_starts_, {}); }

    // Requires room for the write. Afterwards the caller lets the backend write.
    void take_write(Process& process, Reply reply, protocol::WriteParams params);

    // Returns false and adds nothing if there is no room for these bytes.
    bool type(Process& process, std::string_view bytes);
    void end_input(Process& process);

    void end(Process& process, std::uint64_t grace_ms);
    void call_off_start(Process& process);

    void on_time();
    std::optional<TimePoint> next_deadline();

    // Retries the delivery of output that had no room. Returns true if some of it was delivered.
    bool deliver_pending();
    bool has_undelivered();

    // Reports from backends.

    // The program runs. Answers its start, then handles the requests that waited for it. The
    // backend has opened the input and set is_output_open.
    void begin_running(Process& process);

    // Nothing of the program has run, or nothing runs any more. Removes the process.
    void fail_start(Process& process, Error error);

    // The leader has ended. Output can still come; settle() reports the exit.
    void note_exit(Process& process, Exit exit);

    // Acts on everything that follows from new output or from the exit.
    void settle(Process& process);

    // Refuses all further input.
    void close_input(Process& process);

    // The input queue has become shorter.
    void release_held_writes(Process& process);

    // A start is cancelled: finish_ending() or fail_start() answers the requests that wait for its
    // end.
    Ending& expect_end(Process& process);

    // The tree has ended, except `survivors`.
    void finish_ending(Process& process, const std::vector<std::int64_t>& survivors);

    // It is not known whether the tree has ended.
    void fail_ending(Process& process, const Error& error);

private:
    Result<void> check_selection(const Launch& launch) const;
    void answer_queries(Process& process);
    void warn_when_nearly_full();
    void handle_parked(std::vector<Parked> parked);
    void tell_exit_if_drained(Process& process);
    void close_if_ended(Process& process);
    void note_news(const Process& process);
    void check_timers(Process& process);

    // Gives up incomplete characters that do not come. Returns true if bytes were released.
    bool release_held_bytes(Process& process);

    const ProcessSettings settings_;
    Outbox& outbox_;
    const TimePoint& now_;
    OutputDelivery delivery_;
    ProcessTable table_;
    Backend* local_ = nullptr;
    ParkedHandler handle_parked_;
    bool wants_extensions_ = false;
    bool has_warned_ = false;
    std::size_t next_to_deliver_ = 0; // the place that uses room in the outbox first
    std::vector<std::uint64_t> news_; // serial numbers
    std::vector<FailedStart> failed_starts_;
};

} // namespace ew::server
