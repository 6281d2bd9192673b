// The methods fs/*. What they do with files is done by file processes, so that no disk holds up the
// server; here requests wait for their turn, and handles and watches are kept.
#pragma once

#include "base/clock.h"
#include "os/poller.h"
#include "protocol/files.h"
#include "server/confine/sandbox_host.h"
#include "server/connection/outbox.h"
#include "server/connection/reply.h"
#include "server/fs/file_process.h"
#include "server/fs/file_task.h"
#include "server/fs/file_watches.h"
#include "server/request/sandbox_request.h"

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::server {

struct FileSettings {
    SandboxSelection selection = SandboxSelection::automatic;
    ServerSide side = {};
    std::string cwd = {};     // where a sandbox is that does not say so itself
    std::string journal = {}; // of the sandboxes' placeholders
};

class FileService {
public:
    static constexpr std::size_t most_tasks = 1024;            // that wait or are worked on
    static constexpr std::size_t most_task_bytes = 128u << 20; // of their contents
    static constexpr std::size_t most_handles = 512;
    static constexpr std::size_t most_processes = 16;
    static constexpr std::size_t most_confined = 4;              // of these
    static constexpr std::size_t most_result_bytes = 192u << 20; // that have come, of all tasks
    // Another process is begun when those that are at work take longer: most requests take less
    // than the start of one.
    static constexpr Millis growth_pause{3};
    static constexpr Millis idle_time{10'000}; // until a process without work is ended

    FileService(FileSettings settings, os::Poller& poller, Outbox& outbox, SandboxHost& host);

    void handle(Reply reply, protocol::ReadFileParams params);
    void handle(Reply reply, protocol::WriteFileParams params);
    void handle(Reply reply, protocol::CreateDirectoryParams params);
    void handle(Reply reply, protocol::GetMetadataParams params);
    void handle(Reply reply, protocol::CanonicalizeParams params);
    void handle(Reply reply, protocol::ReadDirectoryParams params);
    void handle(Reply reply, protocol::WalkParams params);
    void handle(Reply reply, protocol::RemoveParams params);
    void handle(Reply reply, protocol::CopyParams params);
    void handle(Reply reply, protocol::OpenParams params);
    void handle(Reply reply, const protocol::ReadBlockParams& params);
    void handle(Reply reply, protocol::WriteBlockParams params);
    void handle(Reply reply, const protocol::CloseParams& params);
    void handle(Reply reply, protocol::WatchMissingParams params);

    // May files be worked on so, by the choice the server was started with?
    Result<void> allows(bool is_confined) const;

    // For a patch: what comes of it is in take_reports().
    void begin_for(std::uint64_t patch, files::Request request,
                   std::optional<SandboxOrder> sandbox);

    struct PatchAnswer {
        std::uint64_t patch = 0;
        Result<std::string> report; // as the file process encoded it
        bool is_settled = false;    // it says so itself: nothing is half done
    };

    std::vector<PatchAnswer> take_reports() { return std::exchange(reports_, {}); }

    // What works on it is ended; take_reports() tells when.
    void call_off_patch(std::uint64_t patch);

    // The request is answered with "cancelled", and what works on it is ended. False: there is no
    // such request.
    bool cancel(const json::Id& id);

    // What the loop found.
    void on_start_report(std::uint64_t serial);
    void on_socket(std::uint64_t serial);
    void on_clearing(std::uint64_t serial);

    void on_watch() { watches_.on_events(now_); }

    // What can be enforced here may be known now.
    void on_machine() { begin_tasks(); }

    // Once a turn of the loop.
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    void set_now(TimePoint now) { now_ = now; }

    void set_side(ServerSide side) { settings_.side = std::move(side); }

    // The server ends: what was asked is still done, if it does not take long.
    bool has_work() const { return !tasks_.empty() || !processes_.empty(); }

    void end_idle();
    // What goes on is called off, and what held places is taken away.
    void refuse_all(const Error& error);
    std::vector<pid_t> clearing_processes() const;
    // What held places is still to be taken away.
    bool has_endings() const;

private:
    // An open file. Of one that replaces another also the directory, and what commit needs.
    struct Handle {
        bool is_open = false; // fs/open has been answered
        bool replaces = false;
        std::string path = {};
        UniqueFd file = {};
        UniqueFd directory = {};
        std::string token = {};
        std::optional<Error> failure = {}; // of a block: the new content is not complete
    };

    using Sandbox = std::optional<protocol::SandboxRequest>;

    FileTask* take(Reply reply, files::Request request, const Sandbox& sandbox);
    FileTask* add(Reply reply, files::Request request, std::optional<SandboxOrder> sandbox);
    void take_for_handle(Reply reply, const std::string& handle_id, files::Request request);
    Result<std::optional<SandboxOrder>> sandbox_for(const Sandbox& sandbox) const;

    void begin_tasks();
    bool may_begin(const FileTask& task) const;
    Result<void> begin(FileTask& task);
    Result<void> begin_confined(FileTask& task);
    void hand_to(FileProcess& process, FileTask& task);
    Result<std::vector<int>> descriptors_for(FileTask& task);
    FileProcess* idle_process() const;
    std::optional<TimePoint> next_growth() const;
    bool has_room_for(const FileTask& task) const;

    bool may_read(const FileProcess& process) const;
    void read_frames(FileProcess& process);
    bool take_frames(FileProcess& process, FileTask& task);
    void lose(FileProcess& process, const Error& error);
    void let_go(FileProcess& process);
    void call_off(FileTask& task);
    void go_on_ending(FileProcess& process);
    void part_with(const FileProcess& process);
    void remove(const FileProcess& process);

    void finish(FileTask& task, const files::Done& done, std::vector<UniqueFd> received);
    void finish_open(FileTask& task, const files::Done& done, std::vector<UniqueFd> received);
    void finish_watch(FileTask& task, const files::Done& done);
    void fail(FileTask& task, Error error);
    void answer(FileTask& task);
    void answer(std::optional<std::uint64_t> serial);
    void look_again();

    FileTask* find_task(std::uint64_t serial);
    FileProcess* find_process(std::uint64_t serial);

    FileSettings settings_;
    os::Poller& poller_;
    Outbox& outbox_;
    SandboxHost& host_;
    FileWatches watches_;
    TimePoint now_;
    std::vector<PatchAnswer> reports_; // of patches, not taken yet
    std::uint64_t last_serial_ = 0;
    std::list<FileTask> tasks_; // in the order of their arrival
    std::size_t task_bytes_ = 0;
    std::map<std::uint64_t, Handle> handles_;             // by serial
    std::map<std::string, std::uint64_t> handle_serials_; // by the client's name
    std::vector<std::unique_ptr<FileProcess>> processes_;
};

} // namespace ew::server
