// The results of tasks: open files, waiting watches, and answers to clients and patches.
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "files/wire.h"
#include "server/connection/outbox.h"
#include "server/fs/file_handles.h"
#include "server/fs/file_task.h"
#include "server/fs/file_tasks.h"
#include "server/fs/file_watches.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ew::server {

// The result of a task for a patch.
struct PatchFileReport {
    std::uint64_t patch = 0;
    Result<std::string> report; // encoded by the file process
    bool is_settled = false;    // the file process reports that no file is half done
};

class FileResults {
public:
    FileResults(FileTasks& tasks, FileHandles& handles, FileWatches& watches, Outbox& outbox)
        : tasks_(tasks), handles_(handles), watches_(watches), outbox_(outbox) {}

    // The result is complete, or the error is known. The task still has to be answered.
    void finish(FileTask& task, const files::Done& done, std::vector<UniqueFd> received,
                TimePoint now);
    void fail(FileTask& task, Error error);

    // Answers a finished task and removes it.
    void answer(std::uint64_t serial);

    // Fails a task with this error, unless it is finished, and answers it.
    void refuse(FileTask& task, Error error);

    std::vector<PatchFileReport> take_reports() { return std::exchange(reports_, {}); }

private:
    void finish_watch(const FileTask& task, const files::Done& done, TimePoint now);

    FileTasks& tasks_;
    FileHandles& handles_;
    FileWatches& watches_;
    Outbox& outbox_;
    std::vector<PatchFileReport> reports_; // not taken yet
};

} // namespace ew::server
