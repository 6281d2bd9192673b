#include "server/fs/file_service.h"

#include "core/output/utf8.h"
#include "protocol/process.h"

#include <fmt/format.h>

#include <utility>

namespace ew::server {

namespace {

using files::Verb;

Error cancelled() {
    return {ErrorKind::cancelled, "the request was cancelled"};
}

} // namespace

FileService::FileService(FileSettings settings, os::Poller& poller, Outbox& outbox,
                         SandboxHost& host, const TimePoint& now)
    : settings_(std::move(settings)),
      now_(now),
      watches_(poller),
      results_(tasks_, handles_, watches_, outbox),
      processes_(
          {poller, host, tasks_, handles_, watches_, results_, outbox, now, settings_.journal}) {}

// ---------------------------------------------------------------- from requests to tasks

Result<std::optional<SandboxOrder>> FileService::sandbox_for(const Sandbox& sandbox) const {
    std::optional<SandboxOrder> order =
        TRY(sandbox_of_files(sandbox, settings_.cwd, settings_.side));
    TRY(allows(order.has_value()));
    return order;
}

Result<void> FileService::allows(bool is_confined) const {
    if (settings_.selection == SandboxSelection::require && !is_confined)
        return Error{ErrorKind::denied,
                     "nothing was done: this server does nothing without a sandbox",
                     "ask for one, or start the server without --sandbox require"};
    if (settings_.selection == SandboxSelection::forbid && is_confined)
        return Error{ErrorKind::sandbox_unavailable,
                     "nothing was done: this server makes no sandboxes",
                     "start the server without --sandbox forbid"};
    return {};
}

// Returns null if the request has been answered.
FileTask* FileService::take(Reply reply, Result<files::Request> request, const Sandbox& sandbox) {
    if (!request) {
        reply.fail(request.error());
        return nullptr;
    }
    Result<std::optional<SandboxOrder>> order = sandbox_for(sandbox);
    if (order) return add(std::move(reply), std::move(*request), std::move(*order));
    reply.fail(order.error());
    return nullptr;
}

FileTask* FileService::add(Reply reply, files::Request request,
                           std::optional<SandboxOrder> sandbox) {
    Result<FileTask*> task = tasks_.add_request(std::move(request), std::move(sandbox));
    if (!task) {
        reply.fail(task.error());
        return nullptr;
    }
    (*task)->reply.emplace(std::move(reply));
    return *task;
}

void FileService::handle(Reply reply, protocol::OpenParams params) {
    if (Result<void> allowed = handles_.allows(params.handle_id); !allowed)
        return reply.fail(allowed.error());
    FileTask* const task = take(std::move(reply), request_of(params), params.sandbox);
    if (task == nullptr) return;
    task->handle = task->serial;
    task->handle_id = std::move(params.handle_id);
    handles_.add(*task);
}

void FileService::take_for_handle(Reply reply, const std::string& name,
                                  Result<files::Request> request) {
    if (!request) return reply.fail(request.error());
    const std::optional<std::uint64_t> handle = handles_.find(name);
    if (!handle)
        return reply.fail({ErrorKind::unknown_handle,
                           fmt::format("no open file '{}'", core::shortened(name)),
                           "open one with fs/open"});
    FileTask* const task = add(std::move(reply), std::move(*request), std::nullopt);
    if (task != nullptr) task->handle = handle;
}

void FileService::handle(Reply reply, const protocol::ReadBlockParams& params) {
    take_for_handle(std::move(reply), params.handle_id, request_of(params));
}

void FileService::handle(Reply reply, protocol::WriteBlockParams params) {
    take_for_handle(std::move(reply), params.handle_id, request_of(params));
}

void FileService::handle(Reply reply, const protocol::CloseParams& params) {
    const std::optional<std::uint64_t> handle = handles_.find(params.handle_id);
    if (!handle) return reply.send(protocol::Empty{});
    files::Request request;
    request.verb = Verb::commit;
    request.other_path = handles_.path_to_replace(*handle);
    FileTask* const task = add(std::move(reply), std::move(request), std::nullopt);
    if (task == nullptr) return;
    task->handle = handle;
    handles_.free_name(params.handle_id);
}

void FileService::handle(Reply reply, protocol::WatchMissingParams params) {
    if (params.missing.empty()) {
        watches_.remove_called(params.watch_id);
        return reply.send(protocol::WatchMissingResult{false});
    }
    FileTask* const task = take(std::move(reply), request_of(params), params.sandbox);
    if (task == nullptr) return;
    FileWatches::Watch watch;
    watch.id = params.watch_id;
    watch.paths = task->request.paths;
    watch.sandbox = task->sandbox;
    task->watch = task->serial;
    if (watches_.add(task->serial, std::move(watch)) == nullptr)
        results_.refuse(*task,
                        {ErrorKind::limit, fmt::format("{} watches are there", FileWatches::most),
                         "a watch ends when it has been told that something appeared"});
}

bool FileService::cancel(const json::Id& id) {
    FileTask* const task = tasks_.find_request(id);
    if (task == nullptr) return false;
    processes_.call_off(*task, cancelled());
    return true;
}

// ---------------------------------------------------------------- for patches

void FileService::begin_for(std::uint64_t patch, files::Request request,
                            std::optional<SandboxOrder> sandbox) {
    tasks_.add(std::move(request), std::move(sandbox)).patch = patch;
}

void FileService::call_off_patch(std::uint64_t patch) {
    if (FileTask* const task = tasks_.find_patch(patch)) processes_.call_off(*task, cancelled());
}

// ---------------------------------------------------------------- time

void FileService::look_again() {
    for (const std::uint64_t serial : watches_.take_due(now_)) {
        const FileWatches::Watch& watch = *watches_.find(serial);
        files::Request request;
        request.verb = Verb::watch_missing;
        request.paths = watch.paths;
        tasks_.add(std::move(request), watch.sandbox).watch = serial;
    }
}

void FileService::on_time() {
    look_again();
    processes_.on_time();
}

std::optional<TimePoint> FileService::next_deadline() const {
    return earlier(watches_.next_deadline(), processes_.next_deadline());
}

void FileService::refuse_all(const Error& error) {
    while (!tasks_.is_empty())
        results_.refuse(tasks_.all().front(), error);
    processes_.end_all();
}

} // namespace ew::server
