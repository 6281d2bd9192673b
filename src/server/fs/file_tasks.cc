#include "server/fs/file_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace ew::server {

namespace {

template <class Matches>
FileTask* first_of(std::list<FileTask>& tasks, Matches matches) {
    const auto found = std::ranges::find_if(tasks, matches);
    return found == tasks.end() ? nullptr : &*found;
}

} // namespace

Result<FileTask*> FileTasks::add_request(files::Request request,
                                         std::optional<SandboxOrder> sandbox) {
    std::size_t bytes = request.data.size();
    for (const std::string& path : request.paths)
        bytes += path.size();
    if (tasks_.size() >= most || bytes_ + bytes > most_bytes)
        return Error{
            ErrorKind::limit,
            fmt::format("{} requests with {} bytes wait for files already", tasks_.size(), bytes_),
            "wait for answers before sending more"};
    FileTask& task = add(std::move(request), std::move(sandbox));
    if (task.sandbox && !is_writing(task)) forbid_writing(task.sandbox->policy);
    task.bytes = bytes;
    bytes_ += bytes;
    return &task;
}

FileTask& FileTasks::add(files::Request request, std::optional<SandboxOrder> sandbox) {
    FileTask& task = tasks_.emplace_back(++last_serial_, std::move(request));
    task.sandbox = std::move(sandbox);
    return task;
}

void FileTasks::remove(std::uint64_t serial) {
    const FileTask* const task = find(serial);
    if (task == nullptr) return;
    bytes_ -= task->bytes;
    std::erase_if(tasks_, [task](const FileTask& other) { return &other == task; });
}

FileTask* FileTasks::find(std::uint64_t serial) {
    return first_of(tasks_, [serial](const FileTask& task) { return task.serial == serial; });
}

FileTask* FileTasks::find_request(const json::Id& id) {
    return first_of(tasks_,
                    [&id](const FileTask& task) { return task.reply && task.reply->id() == id; });
}

FileTask* FileTasks::find_patch(std::uint64_t patch) {
    return first_of(tasks_, [patch](const FileTask& task) { return task.patch == patch; });
}

bool FileTasks::must_wait(const FileTask& task) const {
    for (const FileTask& earlier : tasks_) {
        if (&earlier == &task) break;
        if (server::must_wait(task, earlier)) return true;
    }
    return false;
}

bool FileTasks::may_grow(std::uint64_t serial) const {
    std::size_t all = 0;
    const FileTask* largest = nullptr;
    for (const FileTask& task : tasks_) {
        all += task.result.size();
        if (largest == nullptr || task.result.size() > largest->result.size()) largest = &task;
    }
    return all < most_result_bytes || largest->serial == serial;
}

} // namespace ew::server
