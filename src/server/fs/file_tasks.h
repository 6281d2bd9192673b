// The tasks that wait or are worked on, in the order of their arrival. A task may have to wait for
// earlier ones (file_task.h).
#pragma once

#include "base/result.h"
#include "files/wire.h"
#include "json/types.h"
#include "server/fs/file_task.h"
#include "server/request/sandbox_request.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

namespace ew::server {

class FileTasks {
public:
    static constexpr std::size_t most = 1024;
    static constexpr std::size_t most_bytes = 128u << 20;        // of the content of all tasks
    static constexpr std::size_t most_result_bytes = 192u << 20; // of the results of all tasks

    // Adds a request of the client. Errors: too many tasks, or too many bytes.
    Result<FileTask*> add_request(files::Request request, std::optional<SandboxOrder> sandbox);

    // Adds a task of the server itself, without a limit.
    FileTask& add(files::Request request, std::optional<SandboxOrder> sandbox);

    void remove(std::uint64_t serial);

    // Return null if there is no such task.
    FileTask* find(std::uint64_t serial);
    FileTask* find_request(const json::Id& id);
    FileTask* find_patch(std::uint64_t patch);

    bool must_wait(const FileTask& task) const;

    // Returns true if more of the result may be read. If all results together are too large, only
    // the task with the largest result may read, because it will be complete first.
    bool may_grow(std::uint64_t serial) const;

    std::list<FileTask>& all() { return tasks_; }

    bool is_empty() const { return tasks_.empty(); }

private:
    std::list<FileTask> tasks_;
    std::size_t bytes_ = 0;
    std::uint64_t last_serial_ = 0;
};

} // namespace ew::server
