// Requests of fs/*, until they are tasks.

#include "core/output/utf8.h"
#include "server/fs/file_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

namespace {

using files::Verb;

files::Request on_path(Verb verb, protocol::Path& path) {
    files::Request request;
    request.verb = verb;
    request.path = std::move(path.native);
    return request;
}

Error beyond(std::string_view member, std::uint64_t most) {
    return {ErrorKind::limit, fmt::format("{} may be {} at most", member, most)};
}

} // namespace

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

// Null: it has been answered.
FileTask* FileService::take(Reply reply, files::Request request, const Sandbox& sandbox) {
    Result<std::optional<SandboxOrder>> order = sandbox_for(sandbox);
    if (order) return add(std::move(reply), std::move(request), std::move(*order));
    reply.fail(order.error());
    return nullptr;
}

FileTask* FileService::add(Reply reply, files::Request request,
                           std::optional<SandboxOrder> sandbox) {
    std::size_t bytes = request.data.size();
    for (const std::string& path : request.paths)
        bytes += path.size();
    if (tasks_.size() >= most_tasks || task_bytes_ + bytes > most_task_bytes) {
        reply.fail({ErrorKind::limit,
                    fmt::format("{} requests with {} bytes wait for files already", tasks_.size(),
                                task_bytes_),
                    "wait for answers before sending more"});
        return nullptr;
    }
    FileTask& task = tasks_.emplace_back(++last_serial_, std::move(request));
    task.reply.emplace(std::move(reply));
    task.sandbox = std::move(sandbox);
    if (task.sandbox && !is_writing(task)) forbid_writing(task.sandbox->policy);
    task.bytes = bytes;
    task_bytes_ += bytes;
    return &task;
}

void FileService::handle(Reply reply, protocol::ReadFileParams params) {
    files::Request request = on_path(Verb::read_file, params.path);
    request.follows_links = params.follow_symlinks;
    take(std::move(reply), std::move(request), params.sandbox);
}

void FileService::handle(Reply reply, protocol::WriteFileParams params) {
    files::Request request = on_path(Verb::write_file, params.path);
    request.follows_links = params.follow_symlinks;
    request.data = std::move(params.data.bytes);
    take(std::move(reply), std::move(request), params.sandbox);
}

void FileService::handle(Reply reply, protocol::CreateDirectoryParams params) {
    files::Request request = on_path(Verb::create_directory, params.path);
    request.follows_links = params.follow_symlinks;
    request.recursive = params.recursive;
    take(std::move(reply), std::move(request), params.sandbox);
}

void FileService::handle(Reply reply, protocol::GetMetadataParams params) {
    files::Request request = on_path(Verb::metadata, params.path);
    request.follows_links = params.follow_symlinks;
    take(std::move(reply), std::move(request), params.sandbox);
}

void FileService::handle(Reply reply, protocol::CanonicalizeParams params) {
    take(std::move(reply), on_path(Verb::canonicalize, params.path), params.sandbox);
}

void FileService::handle(Reply reply, protocol::ReadDirectoryParams params) {
    take(std::move(reply), on_path(Verb::read_directory, params.path), params.sandbox);
}

void FileService::handle(Reply reply, protocol::WalkParams params) {
    const protocol::WalkOptions& options = params.options;
    if (options.max_depth > files::deepest_walk)
        return reply.fail(beyond("options.maxDepth", files::deepest_walk));
    if (options.max_directories > files::most_walk_directories)
        return reply.fail(beyond("options.maxDirectories", files::most_walk_directories));
    if (options.max_entries > files::most_walk_entries)
        return reply.fail(beyond("options.maxEntries", files::most_walk_entries));
    files::Request request = on_path(Verb::walk, params.path);
    request.walk = {options.max_depth, options.max_directories, options.max_entries,
                    options.follow_directory_symlinks, options.prune_hidden_directories};
    take(std::move(reply), std::move(request), params.sandbox);
}

void FileService::handle(Reply reply, protocol::RemoveParams params) {
    files::Request request = on_path(Verb::remove, params.path);
    request.follows_links = params.follow_symlinks;
    request.recursive = params.recursive;
    request.force = params.force;
    take(std::move(reply), std::move(request), params.sandbox);
}

void FileService::handle(Reply reply, protocol::CopyParams params) {
    files::Request request = on_path(Verb::copy, params.source_path);
    request.other_path = std::move(params.destination_path.native);
    request.recursive = params.recursive;
    take(std::move(reply), std::move(request), params.sandbox);
}

void FileService::handle(Reply reply, protocol::OpenParams params) {
    if (handle_serials_.contains(params.handle_id))
        return reply.fail({ErrorKind::handle_exists,
                           fmt::format("handle '{}' is open", core::shortened(params.handle_id)),
                           "choose another handleId, or close this one", "handleId"});
    if (handle_serials_.size() >= most_handles)
        return reply.fail({ErrorKind::limit, fmt::format("{} files are open", most_handles),
                           "close some with fs/close"});
    const bool replaces = params.mode == protocol::OpenMode::replace;
    FileTask* const task =
        take(std::move(reply), on_path(replaces ? Verb::open_replace : Verb::open, params.path),
             params.sandbox);
    if (task == nullptr) return;
    task->handle = task->serial;
    task->handle_id = params.handle_id;
    handle_serials_.emplace(std::move(params.handle_id), task->serial);
    Handle& handle = handles_[task->serial];
    handle.replaces = replaces;
    handle.path = task->request.path;
}

void FileService::take_for_handle(Reply reply, const std::string& handle_id,
                                  files::Request request) {
    const auto serial = handle_serials_.find(handle_id);
    if (serial == handle_serials_.end())
        return reply.fail({ErrorKind::unknown_handle,
                           fmt::format("no open file '{}'", core::shortened(handle_id)),
                           "open one with fs/open"});
    FileTask* const task = add(std::move(reply), std::move(request), std::nullopt);
    if (task != nullptr) task->handle = serial->second;
}

void FileService::handle(Reply reply, const protocol::ReadBlockParams& params) {
    if (params.len == 0 || params.len > files::longest_block)
        return reply.fail(
            {ErrorKind::limit, fmt::format("len is between 1 and {}", files::longest_block)});
    files::Request request;
    request.verb = Verb::read_block;
    request.offset = params.offset;
    request.length = params.len;
    take_for_handle(std::move(reply), params.handle_id, std::move(request));
}

void FileService::handle(Reply reply, protocol::WriteBlockParams params) {
    if (params.chunk.bytes.size() > files::longest_block)
        return reply.fail(beyond("the size of chunk", files::longest_block));
    files::Request request;
    request.verb = Verb::write_block;
    request.offset = params.offset;
    request.data = std::move(params.chunk.bytes);
    take_for_handle(std::move(reply), params.handle_id, std::move(request));
}

// The name is free from now on; the file is closed when what was asked of it before has been done.
void FileService::handle(Reply reply, const protocol::CloseParams& params) {
    const auto named = handle_serials_.find(params.handle_id);
    if (named == handle_serials_.end()) return reply.send(protocol::Empty{});
    files::Request request;
    request.verb = Verb::commit;
    const std::uint64_t serial = named->second;
    if (handles_[serial].replaces) request.other_path = handles_[serial].path;
    FileTask* const task = add(std::move(reply), std::move(request), std::nullopt);
    if (task == nullptr) return;
    task->handle = serial;
    handle_serials_.erase(named);
}

void FileService::handle(Reply reply, protocol::WatchMissingParams params) {
    if (params.missing.empty()) {
        watches_.remove_called(params.watch_id);
        return reply.send(protocol::WatchMissingResult{false});
    }
    if (params.missing.size() > files::most_missing)
        return reply.fail(beyond("the number of missing paths", files::most_missing));
    files::Request request;
    request.verb = Verb::watch_missing;
    std::size_t bytes = 0;
    for (protocol::Path& path : params.missing) {
        bytes += path.native.size();
        request.paths.push_back(std::move(path.native));
    }
    if (bytes > FileWatches::most_bytes)
        return reply.fail(beyond("the bytes of missing paths", FileWatches::most_bytes));
    FileTask* const task = take(std::move(reply), std::move(request), params.sandbox);
    if (task == nullptr) return;
    FileWatches::Watch watch;
    watch.id = params.watch_id;
    watch.paths = task->request.paths;
    watch.sandbox = task->sandbox;
    task->watch = task->serial;
    if (watches_.add(task->serial, std::move(watch)) == nullptr) {
        fail(*task, {ErrorKind::limit, fmt::format("{} watches are there", FileWatches::most),
                     "a watch ends when it has been told that something appeared"});
        answer(*task);
    }
}

bool FileService::cancel(const json::Id& id) {
    const auto task = std::ranges::find_if(tasks_, [&id](const FileTask& waiting) {
        return waiting.reply && waiting.reply->id() == id;
    });
    if (task == tasks_.end()) return false;
    call_off(*task);
    return true;
}

void FileService::call_off(FileTask& task) {
    if (task.is_finished) return; // its answer is on the way
    const Error cancelled = {ErrorKind::cancelled, "the request was cancelled"};
    if (FileProcess* const process = find_process(task.process)) return lose(*process, cancelled);
    fail(task, cancelled);
    answer(task);
}

// ---------------------------------------------------------------- for patches

void FileService::begin_for(std::uint64_t patch, files::Request request,
                            std::optional<SandboxOrder> sandbox) {
    FileTask& task = tasks_.emplace_back(++last_serial_, std::move(request));
    task.patch = patch;
    task.sandbox = std::move(sandbox);
}

void FileService::call_off_patch(std::uint64_t patch) {
    const auto task = std::ranges::find_if(
        tasks_, [patch](const FileTask& waiting) { return waiting.patch == patch; });
    if (task != tasks_.end()) call_off(*task);
}

} // namespace ew::server
