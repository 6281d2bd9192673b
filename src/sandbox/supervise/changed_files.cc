#include "sandbox/supervise/changed_files.h"

#include "sandbox/aftermath/look_journal.h"
#include "sandbox/aftermath/settings_change.h"
#include "sandbox/supervise/caller.h"
#include "sandbox/supervise/refusals.h"

#include <optional>
#include <string>
#include <utility>

namespace ew::sandbox {

bool ChangedFiles::is_about(const CallErrands::Finished& errand) {
    return !errand.call.changes.empty() || !errand.settings.empty();
}

void ChangedFiles::finish(CallErrands::Finished errand) {
    if (errand.call.changes.empty()) return finish_settings(errand);
    const bool exists = errand.result == "1";
    return exists ? notifications_.let_through(errand.call.id)
                  : tell_changes(std::move(errand.call));
}

void ChangedFiles::take(std::uint64_t id, const seccomp_data& data, pid_t thread, TimePoint now) {
    WaitingCall call;
    call.id = id;
    call.caller.thread = thread;
    const FileChange change = read_file_change(call.caller, data);
    if (!begin_settings_errand(id, change, thread, now)) tell(std::move(call), change, now);
}

// Returns false if the call cannot be a change of protected settings.
bool ChangedFiles::begin_settings_errand(std::uint64_t id, const FileChange& change, pid_t thread,
                                         TimePoint now) {
    const bool is_possible = settings_.look >= 0 && change.operation == "rename" &&
                             change.paths.size() == 2 &&
                             may_be_settings_change(change.paths[0], change.paths[1]);
    if (!is_possible) return false;
    const std::optional<Caller> caller = look_at(thread);
    if (!caller || !notifications_.is_waiting(id)) return false;
    WaitingCall call;
    call.id = id;
    call.caller = *caller;
    CallErrands::Task task;
    task.settings = change.paths[1];
    task.kept = {settings_.look};
    task.body = [look = settings_.look, path = task.settings] {
        const std::optional<LookRecord> record = read_look(look);
        return encode_change(record ? change_settings(*record, path) : SettingsChange());
    };
    errands_.begin(std::move(call), std::move(task), now);
    return true;
}

void ChangedFiles::finish_settings(const CallErrands::Finished& errand) {
    const SettingsChange change = decode_change(errand.result);
    switch (change.outcome) {
    case SettingsChange::Outcome::made: return notifications_.answer(errand.call.id, 0);
    case SettingsChange::Outcome::refused:
        denials_.add(settings_denial(errand, change.reason));
        return notifications_.let_through(errand.call.id); // the mount refuses it
    case SettingsChange::Outcome::other: return notifications_.let_through(errand.call.id);
    }
}

// The call continues in any case: mounts and Landlock decide.
void ChangedFiles::tell(WaitingCall call, const FileChange& change, TimePoint now) {
    if (!settings_.reports_changes) return notifications_.let_through(call.id);
    const pid_t thread = call.caller.thread;
    for (const std::string& path : change.paths) {
        const FileVerdict verdict = judge_file_change(places_, change.operation, path);
        if (verdict != FileVerdict::allowed)
            call.changes.push_back(file_denial(change, path, verdict, settings_.home));
    }
    if (call.changes.empty()) return notifications_.let_through(call.id);
    call.caller = look_at(thread).value_or(call.caller);
    const std::string program = program_of(call.caller);
    if (!notifications_.is_waiting(call.id)) return; // the facts may be of another process
    for (Denial& denial : call.changes) {
        denial.pid = call.caller.process;
        denial.program = program;
    }
    // mkdir of an existing directory changes nothing, and tools make sure of directories that way.
    if (change.operation == "mkdir") return begin_existence_errand(std::move(call), now);
    tell_changes(std::move(call));
}

void ChangedFiles::tell_changes(WaitingCall call) {
    for (Denial& denial : call.changes)
        denials_.add(std::move(denial));
    notifications_.let_through(call.id);
}

void ChangedFiles::begin_existence_errand(WaitingCall call, TimePoint now) {
    CallErrands::Task task;
    const int listener = notifications_.fd();
    const std::string& path = call.changes.front().target;
    task.body = [listener, path, id = call.id, thread = call.caller.thread] {
        return std::string(exists_for(thread, path) && is_waiting(listener, id) ? "1" : "0");
    };
    task.kept = {listener};
    errands_.begin(std::move(call), std::move(task), now);
}

} // namespace ew::sandbox
