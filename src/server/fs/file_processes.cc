#include "server/fs/file_processes.h"

#include "server/confine/process_sandbox.h"
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

// ---------------------------------------------------------------- to file processes

void FileProcesses::begin_tasks() {
    std::list<FileTask>& tasks = parts_.tasks.all();
    for (auto next = tasks.begin(); next != tasks.end();) {
        if (processes_.size() >= most && find_idle() == nullptr) return;
        FileTask& task = *next++; // the task may be gone after this turn
        if (task.process != 0 || task.is_finished) continue;
        if (!has_room_for(task) || parts_.tasks.must_wait(task)) continue;
        if (Result<void> begun = begin(task); !begun)
            parts_.results.refuse(task, std::move(begun.error()));
    }
}

bool FileProcesses::has_room_for(const FileTask& task) const {
    const auto confined = std::ranges::count_if(
        processes_, [](const auto& process) { return process->is_confined(); });
    if (task.sandbox && static_cast<std::size_t>(confined) >= most_confined) return false;
    return processes_.size() < most || find_idle() != nullptr;
}

Result<void> FileProcesses::begin(FileTask& task) {
    // The commit has no file to put in place, so it is done. The file may never have been opened.
    if (task.request.verb == Verb::commit && task.request.other_path.empty()) {
        parts_.results.finish(task, {}, {}, now_);
        parts_.results.answer(task.serial);
        return {};
    }
    if (task.sandbox) return begin_confined(task);
    FileProcess* process = find_idle();
    if (process == nullptr) {
        const std::optional<TimePoint> growth = next_growth();
        if (growth && now_ < *growth) return {};
        Result<std::unique_ptr<FileProcess>> begun =
            FileProcess::begin(++last_serial_, parts_.poller);
        if (!begun && growth) return {}; // a busy process will take the task
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

// Begins a process once the machine is known. Until then, the task keeps waiting.
Result<void> FileProcesses::begin_confined(FileTask& task) {
    SandboxHost& host = parts_.host;
    if (!std::exchange(task.waits_for_machine, true)) host.need(now_);
    if (host.failure()) return *host.failure();
    if (host.machine() == nullptr) return {};
    if (processes_.size() >= most) remove(*find_idle()); // make room
    processes_.push_back(TRY(FileProcess::begin_confined(++last_serial_, *task.sandbox,
                                                         parts_.journal, host, parts_.poller)));
    FileProcess& process = *processes_.back();
    process.take(task.serial, now_);
    task.process = process.serial();
    return {};
}

Result<std::vector<int>> FileProcesses::descriptors_for(FileTask& task) {
    if (task.request.verb != Verb::watch_missing) return parts_.handles.descriptors_for(task);
    return std::vector<int>{TRY(parts_.watches.inotify())};
}

void FileProcesses::hand_to(FileProcess& process, FileTask& task) {
    process.take(task.serial, now_);
    task.process = process.serial();
    Result<std::vector<int>> descriptors = descriptors_for(task);
    if (!descriptors) {
        parts_.results.fail(task, std::move(descriptors.error()));
        return let_go(process);
    }
    task.request.stand_ins = process.stand_ins();
    process.channel().begin(files::encode(task.request), std::move(*descriptors));
    task.request.data = std::string();
}

FileProcess* FileProcesses::find_idle() const {
    const auto found =
        std::ranges::find_if(processes_, [](const auto& process) { return process->is_idle(); });
    return found == processes_.end() ? nullptr : found->get();
}

// Returns nullopt if no process without a sandbox is at work.
std::optional<TimePoint> FileProcesses::next_growth() const {
    std::optional<TimePoint> last;
    for (const std::unique_ptr<FileProcess>& process : processes_)
        if (process->task() && !process->is_confined() && (!last || *last < process->since()))
            last = process->since();
    if (!last) return std::nullopt;
    return *last + growth_pause;
}

// ---------------------------------------------------------------- from file processes

void FileProcesses::on_start_report(std::uint64_t serial) {
    FileProcess* const process = find(serial);
    if (process == nullptr || !process->is_starting()) return;
    process->on_start_report();
    FileTask* const task = process->task() ? parts_.tasks.find(*process->task()) : nullptr;
    if (process->failure()) {
        const bool may_try_again = process->is_failure_passing() && task != nullptr &&
                                   ++task->tries < sandbox::Launch::most_tries;
        if (!may_try_again) return lose(*process, *process->failure());
        (void)process->release(now_);
        task->process = 0; // begin_tasks() takes it again
        if (process->end(now_)) remove(*process);
        return;
    }
    if (process->is_ready() && task != nullptr) hand_to(*process, *task);
}

void FileProcesses::on_socket(std::uint64_t serial) {
    FileProcess* const process = find(serial);
    if (process == nullptr) return;
    if (process->is_ending()) return go_on_ending(*process);
    if (!process->is_ready()) return;
    process->channel().write();
    if (may_read(*process)) read_frames(*process);
}

// Returns false while the client does not read its answers.
bool FileProcesses::may_read(const FileProcess& process) const {
    if (!process.task()) return true;
    return !parts_.outbox.is_full_of_answers() && parts_.tasks.may_grow(*process.task());
}

void FileProcesses::read_frames(FileProcess& process) {
    const bool is_there = process.channel().read();
    FileTask* const task = process.task() ? parts_.tasks.find(*process.task()) : nullptr;
    if (task != nullptr && take_frames(process, *task)) return;
    if (!is_there) process.come_to_rest();
    if (!is_there || (task == nullptr && process.channel().frame())) lose(process, lost());
}

// Returns true if the answer is complete. The process and the task may be gone then.
bool FileProcesses::take_frames(FileProcess& process, FileTask& task) {
    while (const std::optional<files::Frame> frame = process.channel().frame()) {
        if (take_frame(task, *frame)) {
            process.channel().pop();
            continue;
        }
        if (frame->kind == files::FrameKind::done) {
            const std::optional<files::Done> done = files::decode_done(frame->body);
            if (!done) break;
            task.is_settled = true;
            parts_.results.finish(task, *done, process.channel().take_descriptors(), now_);
        } else {
            const std::optional<files::Failed> failed = files::decode_failed(frame->body);
            if (!failed) break;
            task.is_settled = failed->trouble != files::Trouble::not_undone;
            parts_.results.fail(task, error_of(*failed, process.is_confined()));
        }
        process.channel().pop();
        process.come_to_rest();
        let_go(process);
        return true;
    }
    return false;
}

// ---------------------------------------------------------------- ends

void FileProcesses::call_off(FileTask& task, const Error& error) {
    if (task.is_finished) return; // its answer will be sent soon
    if (FileProcess* const process = find(task.process)) return lose(*process, error);
    parts_.results.refuse(task, error);
}

// The process has ended, or must end, before its task is done.
void FileProcesses::lose(FileProcess& process, const Error& error) {
    FileTask* const task = process.task() ? parts_.tasks.find(*process.task()) : nullptr;
    if (task != nullptr && !task->is_finished) parts_.results.fail(*task, error);
    if (process.is_confined()) return let_go(process);
    part_with(process);
}

// The task of the process is finished. It is answered when no process is left in the sandbox.
void FileProcesses::let_go(FileProcess& process) {
    if (process.is_confined()) {
        if (process.end(now_)) part_with(process);
        return;
    }
    if (const std::optional<std::uint64_t> task = process.release(now_))
        parts_.results.answer(*task);
}

void FileProcesses::on_clearing(std::uint64_t serial) {
    if (FileProcess* const process = find(serial)) go_on_ending(*process);
}

void FileProcesses::go_on_ending(FileProcess& process) {
    if (process.go_on_ending(now_)) part_with(process);
}

void FileProcesses::part_with(const FileProcess& process) {
    const std::optional<std::uint64_t> task = process.task();
    remove(process);
    if (task) parts_.results.answer(*task);
}

void FileProcesses::remove(const FileProcess& process) {
    std::erase_if(processes_, [&process](const auto& other) { return other.get() == &process; });
}

void FileProcesses::end_idle() {
    std::erase_if(processes_, [](const auto& process) { return process->is_idle(); });
}

void FileProcesses::end_all() {
    std::erase_if(processes_, [this](const auto& process) {
        if (!process->is_confined()) return true;
        return !process->is_ending() && process->end(now_);
    });
}

bool FileProcesses::has_endings() const {
    return std::ranges::any_of(processes_,
                               [](const auto& process) { return process->is_ending(); });
}

std::vector<pid_t> FileProcesses::clearing_processes() const {
    std::vector<pid_t> clearing;
    for (const std::unique_ptr<FileProcess>& process : processes_)
        if (process->clearing_process() != 0) clearing.push_back(process->clearing_process());
    return clearing;
}

FileProcess* FileProcesses::find(std::uint64_t serial) {
    const auto found = std::ranges::find_if(
        processes_, [serial](const auto& process) { return process->serial() == serial; });
    return found == processes_.end() ? nullptr : found->get();
}

// ---------------------------------------------------------------- time

void FileProcesses::on_time() {
    begin_tasks();
    std::vector<std::uint64_t> late;
    for (const std::unique_ptr<FileProcess>& process : processes_) {
        process->expect(may_read(*process));
        if (is_due(process->ending_deadline(), now_)) late.push_back(process->serial());
    }
    for (const std::uint64_t serial : late)
        on_clearing(serial);
    std::erase_if(processes_, [this](const auto& process) {
        return process->is_idle() && process->since() + idle_time <= now_;
    });
}

std::optional<TimePoint> FileProcesses::next_deadline() const {
    std::optional<TimePoint> next;
    // A task can wait for a process only then. If it waits for something else, the loop makes one
    // turn too many.
    const bool may_grow = processes_.size() < most &&
                          std::ranges::any_of(parts_.tasks.all(), [](const FileTask& task) {
                              return task.process == 0 && !task.sandbox && !task.is_finished;
                          });
    if (const auto at = next_growth(); may_grow && at && now_ < *at) next = at;
    for (const std::unique_ptr<FileProcess>& process : processes_) {
        next = earlier(next, process->ending_deadline());
        if (process->is_idle()) next = earlier(next, process->since() + idle_time);
    }
    return next;
}

} // namespace ew::server
