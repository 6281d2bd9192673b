#include "server/fs/file_service.h"

#include "server/confine/process_sandbox.h"
#include "server/connection/notify.h"
#include "server/fs/file_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

namespace {

using files::Verb;

Error lost() {
    return {ErrorKind::io_failed, "the process that works on files has ended before its answer",
            "see that execward-init is where execward was installed or built, and executable"};
}

} // namespace

FileService::FileService(FileSettings settings, os::Poller& poller, Outbox& outbox,
                         SandboxHost& host)
    : settings_(std::move(settings)),
      poller_(poller),
      outbox_(outbox),
      host_(host),
      watches_(poller) {}

// ---------------------------------------------------------------- to file processes

void FileService::begin_tasks() {
    for (auto next = tasks_.begin(); next != tasks_.end();) {
        if (processes_.size() >= most_processes && idle_process() == nullptr) return;
        FileTask& task = *next++; // it may be gone after this turn
        if (task.process != 0 || task.is_finished || !may_begin(task)) continue;
        if (Result<void> begun = begin(task); !begun) {
            fail(task, std::move(begun.error()));
            answer(task);
        }
    }
}

bool FileService::may_begin(const FileTask& task) const {
    if (!has_room_for(task)) return false;
    for (const FileTask& earlier : tasks_) {
        if (&earlier == &task) break;
        if (must_wait(task, earlier)) return false;
    }
    return true;
}

bool FileService::has_room_for(const FileTask& task) const {
    const auto confined = std::ranges::count_if(
        processes_, [](const auto& process) { return process->is_confined(); });
    if (task.sandbox && static_cast<std::size_t>(confined) >= most_confined) return false;
    return processes_.size() < most_processes || idle_process() != nullptr;
}

Result<void> FileService::begin(FileTask& task) {
    // Nothing is put in place, so there is nothing to do; also of a file that was not opened.
    if (task.request.verb == Verb::commit && task.request.other_path.empty()) {
        finish(task, {}, {});
        answer(task);
        return {};
    }
    if (task.sandbox) return begin_confined(task);
    FileProcess* process = idle_process();
    if (process == nullptr) {
        const std::optional<TimePoint> growth = next_growth();
        if (growth && now_ < *growth) return {};
        Result<std::unique_ptr<FileProcess>> begun = FileProcess::begin(++last_serial_, poller_);
        if (!begun && growth) return {}; // one that is at work will take it
        if (!begun)
            return Error{
                ErrorKind::limit,
                fmt::format("no process can be started for files: {}", begun.error().message),
                "close other files, or raise the limits of the server (ulimit -n, -u)"};
        processes_.push_back(std::move(*begun));
        process = processes_.back().get();
    }
    hand_to(*process, task);
    return {};
}

// Once it is known what the machine can enforce; until then it is left where it is.
Result<void> FileService::begin_confined(FileTask& task) {
    if (!std::exchange(task.waits_for_machine, true)) host_.need(now_);
    if (host_.failure()) return *host_.failure();
    if (host_.machine() == nullptr) return {};
    if (processes_.size() >= most_processes) remove(*idle_process()); // its place is wanted
    processes_.push_back(TRY(FileProcess::begin_confined(++last_serial_, *task.sandbox,
                                                         settings_.journal, host_, poller_)));
    FileProcess& process = *processes_.back();
    process.task = task.serial;
    task.process = process.serial();
    return {};
}

Result<std::vector<int>> FileService::descriptors_for(FileTask& task) {
    if (task.request.verb == Verb::watch_missing) return std::vector<int>{TRY(watches_.inotify())};
    const bool makes_handle =
        task.request.verb == Verb::open || task.request.verb == Verb::open_replace;
    if (!task.handle || makes_handle) return std::vector<int>();
    const auto found = handles_.find(*task.handle);
    if (found == handles_.end() || !found->second.is_open)
        return Error{ErrorKind::unknown_handle, "the file is not open"};
    Handle& handle = found->second;
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

void FileService::hand_to(FileProcess& process, FileTask& task) {
    process.task = task.serial;
    process.task_since = now_;
    task.process = process.serial();
    Result<std::vector<int>> descriptors = descriptors_for(task);
    if (!descriptors) {
        fail(task, std::move(descriptors.error()));
        return let_go(process);
    }
    task.request.stand_ins = process.stand_ins();
    process.channel().begin(files::encode(task.request), std::move(*descriptors));
    task.request.data = std::string();
}

FileProcess* FileService::idle_process() const {
    const auto found = std::ranges::find_if(
        processes_, [](const auto& process) { return !process->is_confined() && !process->task; });
    return found == processes_.end() ? nullptr : found->get();
}

// Absent: no process without a sandbox is at work.
std::optional<TimePoint> FileService::next_growth() const {
    std::optional<TimePoint> last;
    for (const std::unique_ptr<FileProcess>& process : processes_)
        if (process->task && !process->is_confined() && (!last || *last < process->task_since))
            last = process->task_since;
    if (!last) return std::nullopt;
    return *last + growth_pause;
}

// ---------------------------------------------------------------- from file processes

void FileService::on_start_report(std::uint64_t serial) {
    FileProcess* const process = find_process(serial);
    if (process == nullptr || !process->is_starting()) return;
    process->on_start_report();
    FileTask* const task = process->task ? find_task(*process->task) : nullptr;
    if (process->failure()) {
        const bool may_try_again = process->is_failure_passing() && task != nullptr &&
                                   ++task->tries < ProcessSandbox::most_tries;
        if (!may_try_again) return lose(*process, *process->failure());
        process->task.reset();
        task->process = 0; // begin_tasks() comes to it
        if (process->end(now_)) remove(*process);
        return;
    }
    if (process->is_ready() && task != nullptr) hand_to(*process, *task);
}

void FileService::on_socket(std::uint64_t serial) {
    FileProcess* const process = find_process(serial);
    if (process == nullptr) return;
    if (process->is_ending()) return go_on_ending(*process);
    if (!process->is_ready()) return;
    process->channel().write();
    if (may_read(*process)) read_frames(*process);
}

// None while the client does not take its answers. When all that has come is too much, only the
// largest goes on, which is the next to be done with.
bool FileService::may_read(const FileProcess& process) const {
    if (!process.task) return true;
    if (outbox_.is_full_of_answers()) return false;
    std::size_t all = 0;
    const FileTask* largest = nullptr;
    for (const FileTask& task : tasks_) {
        all += task.result.size();
        if (largest == nullptr || task.result.size() > largest->result.size()) largest = &task;
    }
    return all < most_result_bytes || largest->serial == *process.task;
}

void FileService::read_frames(FileProcess& process) {
    const bool is_there = process.channel().read();
    FileTask* const task = process.task ? find_task(*process.task) : nullptr;
    if (task != nullptr && take_frames(process, *task)) return;
    if (!is_there) process.come_to_rest();
    if (!is_there || (task == nullptr && process.channel().frame())) lose(process, lost());
}

// True: the answer is complete, and both may be gone.
bool FileService::take_frames(FileProcess& process, FileTask& task) {
    while (const std::optional<files::Frame> frame = process.channel().frame()) {
        if (take_frame(task, *frame)) {
            process.channel().pop();
            continue;
        }
        if (frame->kind == files::FrameKind::done) {
            const std::optional<files::Done> done = files::decode_done(frame->body);
            if (!done) break;
            task.is_settled = true;
            finish(task, *done, process.channel().take_descriptors());
        } else {
            const std::optional<files::Failed> failed = files::decode_failed(frame->body);
            if (!failed) break;
            task.is_settled = failed->trouble != files::Trouble::not_undone;
            fail(task, error_of(*failed, process.is_confined()));
        }
        process.channel().pop();
        process.come_to_rest();
        let_go(process);
        return true;
    }
    return false;
}

// The process has ended, or is to end, before its task is done.
void FileService::lose(FileProcess& process, const Error& error) {
    if (process.task)
        if (FileTask* const task = find_task(*process.task); task != nullptr && !task->is_finished)
            fail(*task, error);
    if (process.is_confined()) return let_go(process);
    part_with(process);
}

// Its task is finished. It is answered when nothing of the sandbox is left.
void FileService::let_go(FileProcess& process) {
    if (process.is_confined()) {
        if (process.end(now_)) part_with(process);
        return;
    }
    const std::optional<std::uint64_t> task = std::exchange(process.task, std::nullopt);
    process.idle_since = now_;
    answer(task);
}

void FileService::on_clearing(std::uint64_t serial) {
    if (FileProcess* const process = find_process(serial)) go_on_ending(*process);
}

void FileService::go_on_ending(FileProcess& process) {
    if (process.go_on_ending(now_)) part_with(process);
}

void FileService::part_with(const FileProcess& process) {
    const std::optional<std::uint64_t> task = process.task;
    remove(process);
    answer(task);
}

void FileService::remove(const FileProcess& process) {
    std::erase_if(processes_, [&process](const auto& other) { return other.get() == &process; });
}

// ---------------------------------------------------------------- ends of tasks

void FileService::finish(FileTask& task, const files::Done& done, std::vector<UniqueFd> received) {
    task.is_finished = true;
    switch (task.request.verb) {
    case Verb::open:
    case Verb::open_replace: finish_open(task, done, std::move(received)); break;
    case Verb::watch_missing: finish_watch(task, done); break;
    case Verb::commit: handles_.erase(task.handle.value_or(0)); break;
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
    if (!task.error) finish_result(task, done);
}

void FileService::finish_open(FileTask& task, const files::Done& done,
                              std::vector<UniqueFd> received) {
    const auto found = handles_.find(task.handle.value_or(0));
    if (found == handles_.end()) return;
    Handle& handle = found->second;
    if (received.size() != (handle.replaces ? 2U : 1U))
        return fail(task, {ErrorKind::limit, "the server has no descriptor left for the file",
                           "close other files, or raise the limit of open files (ulimit -n)"});
    handle.is_open = true;
    handle.file = std::move(received[0]);
    if (handle.replaces) handle.directory = std::move(received[1]);
    handle.token = done.path;
}

void FileService::finish_watch(FileTask& task, const files::Done& done) {
    FileWatches::Watch* const watch = watches_.find(task.watch.value_or(0));
    if (watch == nullptr || done.exists) watches_.drop(done.places);
    if (watch == nullptr) return; // replaced meanwhile
    if (!done.exists) return watches_.wait_at(*watch, done.places, now_);
    if (!task.reply) notify(outbox_, "fs/missingChanged", protocol::MissingChanged{watch->id});
    watches_.remove(*task.watch);
}

void FileService::fail(FileTask& task, Error error) {
    task.is_finished = true;
    const bool makes_handle =
        task.request.verb == Verb::open || task.request.verb == Verb::open_replace;
    if (task.handle && (makes_handle || task.request.verb == Verb::commit)) {
        handles_.erase(*task.handle);
        std::erase_if(handle_serials_,
                      [&task](const auto& named) { return named.second == *task.handle; });
    }
    if (const auto written = handles_.find(task.handle.value_or(0));
        written != handles_.end() && task.request.verb == Verb::write_block)
        written->second.failure = error;
    if (FileWatches::Watch* const watch = watches_.find(task.watch.value_or(0))) {
        // Nobody would look any more: the client, which is told that something changed, may.
        if (!task.reply) notify(outbox_, "fs/missingChanged", protocol::MissingChanged{watch->id});
        watches_.remove(*task.watch);
    }
    task.error = std::move(error);
}

void FileService::answer(std::optional<std::uint64_t> serial) {
    if (!serial) return;
    if (FileTask* const task = find_task(*serial)) answer(*task);
}

void FileService::answer(FileTask& task) {
    if (task.reply && task.error)
        task.reply->fail(*task.error);
    else if (task.reply)
        task.reply->send_text(task.result.view());
    else if (task.patch && task.error)
        reports_.push_back({*task.patch, *task.error, task.is_settled});
    else if (task.patch)
        reports_.push_back({*task.patch, std::string(task.result.view()), task.is_settled});
    task_bytes_ -= task.bytes;
    const std::uint64_t serial = task.serial;
    std::erase_if(tasks_, [serial](const FileTask& other) { return other.serial == serial; });
}

// ---------------------------------------------------------------- time

void FileService::look_again() {
    for (const std::uint64_t serial : watches_.take_due(now_)) {
        const FileWatches::Watch& watch = *watches_.find(serial);
        files::Request request;
        request.verb = Verb::watch_missing;
        request.paths = watch.paths;
        FileTask& task = tasks_.emplace_back(++last_serial_, std::move(request));
        task.watch = serial;
        task.sandbox = watch.sandbox;
    }
}

void FileService::on_time(TimePoint now) {
    now_ = now;
    look_again();
    begin_tasks();
    std::vector<std::uint64_t> late;
    for (const std::unique_ptr<FileProcess>& process : processes_) {
        process->expect(may_read(*process));
        if (is_due(process->ending_deadline(), now)) late.push_back(process->serial());
    }
    for (const std::uint64_t serial : late)
        on_clearing(serial);
    std::erase_if(processes_, [now](const auto& process) {
        return !process->task && !process->is_confined() && process->idle_since + idle_time <= now;
    });
}

std::optional<TimePoint> FileService::next_deadline() const {
    std::optional<TimePoint> next = watches_.next_deadline();
    // Tasks may wait for a process only then; one that waits for more makes one turn too many.
    const bool may_grow =
        processes_.size() < most_processes && std::ranges::any_of(tasks_, [](const FileTask& task) {
            return task.process == 0 && !task.sandbox && !task.is_finished;
        });
    if (const auto at = next_growth(); may_grow && at && now_ < *at) next = earlier(next, at);
    for (const std::unique_ptr<FileProcess>& process : processes_) {
        next = earlier(next, process->ending_deadline());
        if (!process->task && !process->is_confined())
            next = earlier(next, process->idle_since + idle_time);
    }
    return next;
}

void FileService::end_idle() {
    std::erase_if(processes_,
                  [](const auto& process) { return !process->task && !process->is_confined(); });
}

void FileService::refuse_all(const Error& error) {
    while (!tasks_.empty()) {
        FileTask& task = tasks_.front();
        fail(task, error);
        answer(task);
    }
    std::erase_if(processes_, [this](const auto& process) {
        if (!process->is_confined()) return true;
        return !process->is_ending() && process->end(now_);
    });
}

bool FileService::has_endings() const {
    return std::ranges::any_of(processes_,
                               [](const auto& process) { return process->is_ending(); });
}

std::vector<pid_t> FileService::clearing_processes() const {
    std::vector<pid_t> clearing;
    for (const std::unique_ptr<FileProcess>& process : processes_)
        if (process->clearing_process() != 0) clearing.push_back(process->clearing_process());
    return clearing;
}

FileTask* FileService::find_task(std::uint64_t serial) {
    const auto found = std::ranges::find(tasks_, serial, &FileTask::serial);
    return found == tasks_.end() ? nullptr : &*found;
}

FileProcess* FileService::find_process(std::uint64_t serial) {
    const auto found = std::ranges::find_if(
        processes_, [serial](const auto& process) { return process->serial() == serial; });
    return found == processes_.end() ? nullptr : found->get();
}

} // namespace ew::server
