// The journal of one patch in progress. A disk may be slow, so errands (os/errand.h) write, settle
// and remove it, one at a time. The result of each errand becomes an event of the patch's call.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "core/patch_call.h"
#include "files/patch/held_journal.h"
#include "files/patch/patch_report.h"
#include "os/poller.h"
#include "os/watched_errand.h"

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace ew::server {

class JournalKeeper {
public:
    using News = std::optional<core::patch_call::Event>;

    // The poller watches errands under `token`.
    JournalKeeper(std::string state_directory, os::Poller& poller, os::Token token);

    // Begin an errand. Return an event at once if no errand can begin.
    News write(const files::PatchReport& report, TimePoint now);
    News settle(TimePoint now);
    News remove(TimePoint now);

    // Returns the result of the errand. Returns nullopt while it is at work.
    News take_news(TimePoint now);

    // The token that the file process needs to apply the patch with this journal.
    const std::string& patch_token() const { return patch_token_; }

    // Returns when the errand is late. Returns nullopt if no errand is at work.
    std::optional<TimePoint> deadline() const {
        if (!errand_) return std::nullopt;
        return errand_->deadline();
    }

    // Returns the pid of the errand. Returns 0 if no errand is at work.
    pid_t errand() const { return errand_ ? errand_->pid() : 0; }

private:
    using Meaning = core::patch_call::Event (*)(const std::string& result);

    Result<void> begin(const std::function<std::string()>& body, Meaning meaning,
                       TimePoint deadline);

    std::string state_directory_;
    os::Poller& poller_;
    os::Token token_;
    std::string patch_token_;
    std::string text_;
    std::optional<files::HeldJournal> journal_; // nullopt: no journal is on the disk
    std::optional<os::WatchedErrand> errand_;
    Meaning meaning_ = nullptr; // converts the errand's result
};

} // namespace ew::server
