// The methods fs/*. File processes carry them out, so that a slow disk does not block the server.
// This class turns requests into tasks.
#pragma once

#include "base/clock.h"
#include "os/poller.h"
#include "protocol/files.h"
#include "server/confine/sandbox_host.h"
#include "server/connection/outbox.h"
#include "server/connection/reply.h"
#include "server/fs/file_handles.h"
#include "server/fs/file_processes.h"
#include "server/fs/file_requests.h"
#include "server/fs/file_results.h"
#include "server/fs/file_task.h"
#include "server/fs/file_tasks.h"
#include "server/fs/file_watches.h"
#include "server/request/sandbox_request.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::server {

struct FileSettings {
    SandboxSelection selection = SandboxSelection::automatic;
    ServerSide side = {};
    std::string cwd = {};     // of a sandbox whose request names no directory
    std::string journal = {}; // of the sandboxes' placeholders
};

class FileService {
public:
    // `now`: of the turn; the worker owns it.
    FileService(FileSettings settings, os::Poller& poller, Outbox& outbox, SandboxHost& host,
                const TimePoint& now);

    // Serves the methods that name a file and a sandbox, and have no other effect.
    template <class Params>
    void handle(Reply reply, Params params) {
        take(std::move(reply), request_of(params), params.sandbox);
    }

    void handle(Reply reply, protocol::OpenParams params);
    void handle(Reply reply, const protocol::ReadBlockParams& params);
    void handle(Reply reply, protocol::WriteBlockParams params);
    void handle(Reply reply, const protocol::CloseParams& params);
    void handle(Reply reply, protocol::WatchMissingParams params);

    // Returns an error if the server was started with a choice that forbids this.
    Result<void> allows(bool is_confined) const;

    // Begins a request of a patch. take_reports() returns the result.
    void begin_for(std::uint64_t patch, files::Request request,
                   std::optional<SandboxOrder> sandbox);

    std::vector<PatchFileReport> take_reports() { return results_.take_reports(); }

    // Ends the work on the patch. take_reports() reports the end.
    void call_off_patch(std::uint64_t patch);

    // Answers the request with "cancelled" and ends the work on it. Returns false if there is no
    // such request.
    bool cancel(const json::Id& id);

    // Handle the events of the poller.
    void on_start_report(std::uint64_t serial) { processes_.on_start_report(serial); }

    void on_socket(std::uint64_t serial) { processes_.on_socket(serial); }

    void on_clearing(std::uint64_t serial) { processes_.on_clearing(serial); }

    void on_watch() { watches_.on_events(now_); }

    // The machine may be known now: begins tasks that waited for it.
    void on_machine() { processes_.begin_tasks(); }

    // Once a turn of the loop.
    void on_time();
    std::optional<TimePoint> next_deadline() const;

    void set_side(ServerSide side) { settings_.side = std::move(side); }

    // When the server ends, it still finishes this work, if that does not take long.
    bool has_work() const { return !tasks_.is_empty() || !processes_.is_empty(); }

    void end_idle() { processes_.end_idle(); }

    // Calls off the work that goes on, and removes placeholders.
    void refuse_all(const Error& error);

    std::vector<pid_t> clearing_processes() const { return processes_.clearing_processes(); }

    // Returns true while placeholders must still be removed.
    bool has_endings() const { return processes_.has_endings(); }

private:
    using Sandbox = std::optional<protocol::SandboxRequest>;

    FileTask* take(Reply reply, Result<files::Request> request, const Sandbox& sandbox);
    FileTask* add(Reply reply, files::Request request, std::optional<SandboxOrder> sandbox);
    void take_for_handle(Reply reply, const std::string& name, Result<files::Request> request);
    Result<std::optional<SandboxOrder>> sandbox_for(const Sandbox& sandbox) const;
    void look_again();

    FileSettings settings_;
    const TimePoint& now_;
    FileTasks tasks_;
    FileHandles handles_;
    FileWatches watches_;
    FileResults results_;
    FileProcesses processes_;
};

} // namespace ew::server
