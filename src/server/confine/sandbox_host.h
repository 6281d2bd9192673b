// What this machine can enforce, found out in a process of its own when it is first needed: nothing
// waits for that but the starts that need it.
#pragma once

#include "base/clock.h"
#include "base/unique_fd.h"
#include "os/errand.h"
#include "os/poller.h"
#include "sandbox/policy/machine.h"
#include "sandbox/trial/trial.h"

#include <optional>

namespace ew::server {

class SandboxHost {
public:
    // `journal` of placeholders: what killed servers left is removed on the same occasion.
    SandboxHost(sandbox::TrialPlaces places, std::string journal, os::Poller& poller)
        : places_(std::move(places)), journal_(std::move(journal)), poller_(poller) {}

    // Null: not known. need() finds out.
    const sandbox::Machine* machine() const { return machine_ ? &*machine_ : nullptr; }

    // Why it could not be found out, until the next need().
    const std::optional<Error>& failure() const { return failure_; }

    // Borrowed, of LaunchOrder::guarded: what a launch made that others can use; -1: nothing yet.
    int guarded() const { return guarded_.get(); }

    void keep_guarded(UniqueFd guarded) { guarded_ = std::move(guarded); }

    // Begins to find out, unless it is known or on the way. What the machine lacked is looked for
    // again after a while: it may have been repaired.
    void need(TimePoint now);

    // Something that should have worked did not: what is known is not true any more.
    void doubt();

    // The poller says that there is news. True: machine() or failure() is known now.
    bool on_ready();
    bool on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

private:
    bool finish(Result<sandbox::Machine> found);

    sandbox::TrialPlaces places_;
    std::string journal_;
    os::Poller& poller_;
    std::optional<os::Errand> trial_;
    std::optional<sandbox::Machine> machine_;
    std::optional<Error> failure_;
    TimePoint found_at_;
    UniqueFd guarded_;
    bool trusts_memory_ = true; // what was found before a restart counts
};

} // namespace ew::server
