#include "server/fs/file_handles.h"

#include "core/output/utf8.h"

#include <fmt/format.h>

#include <utility>

namespace ew::server {

namespace {

using files::Verb;

bool makes_handle(const FileTask& task) {
    return task.request.verb == Verb::open || task.request.verb == Verb::open_replace;
}

} // namespace

Result<void> FileHandles::allows(const std::string& name) const {
    if (serials_.contains(name))
        return Error{ErrorKind::handle_exists,
                     fmt::format("handle '{}' is open", core::shortened(name)),
                     "choose another handleId, or close this one", "handleId"};
    if (serials_.size() >= most)
        return Error{ErrorKind::limit, fmt::format("{} files are open", most),
                     "close some with fs/close"};
    return {};
}

void FileHandles::add(const FileTask& opening) {
    serials_.emplace(opening.handle_id, opening.serial);
    Handle& handle = handles_[opening.serial];
    handle.replaces = opening.request.verb == Verb::open_replace;
    handle.path = opening.request.path;
}

std::optional<std::uint64_t> FileHandles::find(const std::string& name) const {
    const auto found = serials_.find(name);
    if (found == serials_.end()) return std::nullopt;
    return found->second;
}

std::string FileHandles::path_to_replace(std::uint64_t serial) const {
    const auto found = handles_.find(serial);
    return found != handles_.end() && found->second.replaces ? found->second.path : std::string();
}

void FileHandles::free_name(const std::string& name) {
    serials_.erase(name);
}

Result<std::vector<int>> FileHandles::descriptors_for(FileTask& task) const {
    if (!task.handle || makes_handle(task)) return std::vector<int>();
    const auto found = handles_.find(*task.handle);
    if (found == handles_.end() || !found->second.is_open)
        return Error{ErrorKind::unknown_handle, "the file is not open"};
    const Handle& handle = found->second;
    if (handle.replaces == (task.request.verb == Verb::read_block))
        return Error{ErrorKind::wrong_kind, handle.replaces ? "the file was opened to be replaced"
                                                            : "the file was opened for reading"};
    if (task.request.verb != Verb::commit) return std::vector<int>{handle.file.get()};
    if (handle.failure)
        return Error{handle.failure->kind,
                     fmt::format("'{}' was left as it was: not all blocks were written: {}",
                                 handle.path, handle.failure->message)};
    task.request.path = handle.token;
    return std::vector<int>{handle.file.get(), handle.directory.get()};
}

Result<void> FileHandles::keep_open(const FileTask& opening, const files::Done& done,
                                    std::vector<UniqueFd> received) {
    const auto found = handles_.find(opening.handle.value_or(0));
    if (found == handles_.end()) return {};
    Handle& handle = found->second;
    if (received.size() != (handle.replaces ? 2U : 1U))
        return Error{ErrorKind::limit, "the server has no descriptor left for the file",
                     "close other files, or raise the limit of open files (ulimit -n)"};
    handle.is_open = true;
    handle.file = std::move(received[0]);
    if (handle.replaces) handle.directory = std::move(received[1]);
    handle.token = done.path;
    return {};
}

void FileHandles::close(const FileTask& committing) {
    handles_.erase(committing.handle.value_or(0));
}

void FileHandles::note_failure(const FileTask& task, const Error& error) {
    if (!task.handle) return;
    if (makes_handle(task) || task.request.verb == Verb::commit) {
        handles_.erase(*task.handle);
        std::erase_if(serials_,
                      [&task](const auto& named) { return named.second == *task.handle; });
    } else if (task.request.verb == Verb::write_block) {
        const auto written = handles_.find(*task.handle);
        if (written != handles_.end()) written->second.failure = error;
    }
}

} // namespace ew::server
