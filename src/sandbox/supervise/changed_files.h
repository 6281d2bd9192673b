// Calls of confined programs that change files and are merely reported: they continue, and mounts
// and Landlock decide. What they will refuse is recorded. One kind is carried out here: git's
// rename onto a protected file of settings, if only harmless keys change.
#pragma once

#include "base/clock.h"
#include "sandbox/supervise/call_errands.h"
#include "sandbox/supervise/denials.h"
#include "sandbox/supervise/file_changes.h"
#include "sandbox/supervise/notifications.h"
#include "sandbox/supervise/supervision.h"
#include "sandbox/supervise/waiting_call.h"

#include <linux/seccomp.h>
#include <sys/types.h>

#include <cstdint>

namespace ew::sandbox {

class ChangedFiles {
public:
    // All are borrowed.
    ChangedFiles(const SupervisorSettings& settings, Notifications& notifications,
                 CallErrands& errands, DenialLog& denials)
        : settings_(settings),
          notifications_(notifications),
          errands_(errands),
          denials_(denials),
          places_{settings.writable, settings.read_only, settings.own} {}

    // The call `id` of that thread: is_file_change() of its number.
    void take(std::uint64_t id, const seccomp_data& data, pid_t thread, TimePoint now);

    // Was the errand begun here?
    static bool is_about(const CallErrands::Finished& errand);

    void finish(CallErrands::Finished errand);

private:
    void tell(WaitingCall call, const FileChange& change, TimePoint now);
    void tell_changes(WaitingCall call);
    void begin_existence_errand(WaitingCall call, TimePoint now);
    bool begin_settings_errand(std::uint64_t id, const FileChange& change, pid_t thread,
                               TimePoint now);
    void finish_settings(const CallErrands::Finished& errand);

    const SupervisorSettings& settings_;
    Notifications& notifications_;
    CallErrands& errands_;
    DenialLog& denials_;
    FilePlaces places_;
};

} // namespace ew::sandbox
