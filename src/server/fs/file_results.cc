#include "server/fs/file_results.h"

#include "protocol/files.h"
#include "server/connection/notify.h"
#include "server/fs/file_answer.h"

namespace ew::server {

using files::Verb;

void FileResults::finish(FileTask& task, const files::Done& done, std::vector<UniqueFd> received,
                         TimePoint now) {
    task.is_finished = true;
    switch (task.request.verb) {
    case Verb::open:
    case Verb::open_replace:
        if (Result<void> kept = handles_.keep_open(task, done, std::move(received)); !kept)
            return fail(task, std::move(kept.error()));
        break;
    case Verb::watch_missing: finish_watch(task, done, now); break;
    case Verb::commit: handles_.close(task); break;
    case Verb::read_file:
    case Verb::write_file:
    case Verb::create_directory:
    case Verb::metadata:
    case Verb::canonicalize:
    case Verb::read_directory:
    case Verb::walk:
    case Verb::remove:
    case Verb::copy:
    case Verb::read_block:
    case Verb::write_block:
    case Verb::patch_check:
    case Verb::patch_apply: break;
    }
    finish_result(task, done);
}

void FileResults::finish_watch(const FileTask& task, const files::Done& done, TimePoint now) {
    FileWatches::Watch* const watch = watches_.find(task.watch.value_or(0));
    if (watch == nullptr || done.exists) watches_.drop(done.places);
    if (watch == nullptr) return; // replaced in the meantime
    if (!done.exists) return watches_.wait_at(*watch, done.places, now);
    if (!task.reply) notify(outbox_, "fs/missingChanged", protocol::MissingChanged{watch->id});
    watches_.remove(*task.watch);
}

void FileResults::fail(FileTask& task, Error error) {
    task.is_finished = true;
    handles_.note_failure(task, error);
    if (FileWatches::Watch* const watch = watches_.find(task.watch.value_or(0))) {
        // The server will not look again. The event makes the client look for itself.
        if (!task.reply) notify(outbox_, "fs/missingChanged", protocol::MissingChanged{watch->id});
        watches_.remove(*task.watch);
    }
    task.error = std::move(error);
}

void FileResults::answer(std::uint64_t serial) {
    FileTask* const task = tasks_.find(serial);
    if (task == nullptr) return;
    if (task->reply && task->error)
        task->reply->fail(*task->error);
    else if (task->reply)
        task->reply->send_text(task->result.view());
    else if (task->patch && task->error)
        reports_.push_back({*task->patch, *task->error, task->is_settled});
    else if (task->patch)
        reports_.push_back({*task->patch, std::string(task->result.view()), task->is_settled});
    tasks_.remove(serial);
}

void FileResults::refuse(FileTask& task, Error error) {
    if (!task.is_finished) fail(task, std::move(error));
    answer(task.serial);
}

} // namespace ew::server
