#include "sandbox/run/confined_run.h"

#include "sandbox/run/placeholder_cleanup.h"
#include "sandbox/supervise/supervisor.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace ew::sandbox {

// Defined here, since the header does not include the supervisor.
ConfinedRun::ConfinedRun() = default;
ConfinedRun::~ConfinedRun() = default;
ConfinedRun::ConfinedRun(ConfinedRun&&) noexcept = default;
ConfinedRun& ConfinedRun::operator=(ConfinedRun&&) noexcept = default;

Result<ConfinedRun> ConfinedRun::begin(LaunchOrder order) {
    ConfinedRun run;
    run.supervision_ = supervision_of(order.policy, order.context, order.machine);
    if (const char* const home = ::getenv("HOME")) run.supervision_.home = home;
    run.journal_ = order.journal;
    run.launch_ = TRY(Launch::begin(std::move(order), ::getpid()));
    return run;
}

std::optional<Launch::Outcome> ConfinedRun::outcome() {
    std::optional<Launch::Outcome> outcome = launch_->outcome();
    is_decided_ = outcome.has_value();
    if (outcome && !outcome->failure) leader_ = launch_->leader();
    return outcome;
}

Result<void> ConfinedRun::supervise() {
    UniqueFd listener = launch_->take_listener();
    if (!listener) return {}; // the machine has no notifications
    if (supervision_.has_mounts) supervision_.mounts = KnownMounts::of(leader_);
    supervisor_ = TRY(Supervisor::start(std::move(listener), std::move(supervision_)));
    return {};
}

std::vector<std::string> ConfinedRun::stand_ins() const {
    return launch_ ? launch_->stand_ins() : std::vector<std::string>();
}

std::optional<int> ConfinedRun::wait_status() {
    return launch_ ? launch_->wait_status() : std::nullopt;
}

int ConfinedRun::supervisor_fd() const {
    return supervisor_ ? supervisor_->fd() : -1;
}

const DenialLog& ConfinedRun::denials() const {
    return supervisor_ ? supervisor_->denials() : denials_;
}

void ConfinedRun::on_supervisor(TimePoint now) {
    if (supervisor_) supervisor_->on_ready(now);
}

Result<void> ConfinedRun::end(TimePoint now) {
    std::vector<Placeholder> placeholders = end_with_placeholders(now);
    if (placeholders.empty()) return {};
    cleanup_ = TRY(begin_placeholder_cleanup(std::move(placeholders), journal_, now));
    return {};
}

std::vector<Placeholder> ConfinedRun::end_with_placeholders(TimePoint now) {
    if (supervisor_) {
        supervisor_->on_ready(now); // a call right before the end counts too
        denials_ = supervisor_->denials();
        supervisor_.reset();
    }
    if (!launch_) return {};
    missing_ = launch_->missing();
    notes_ = launch_->notes();
    std::vector<Placeholder> placeholders = launch_->take_placeholders();
    launch_.reset();
    return placeholders;
}

bool ConfinedRun::is_cleanup_over(TimePoint now) {
    return cleanup_->deadline() <= now || cleanup_->take_result().has_value();
}

void ConfinedRun::on_time(TimePoint now) {
    if (supervisor_) supervisor_->on_time(now);
}

std::optional<TimePoint> ConfinedRun::next_deadline() const {
    std::optional<TimePoint> next;
    if (supervisor_) next = supervisor_->next_deadline();
    if (cleanup_) next = earlier(next, cleanup_->deadline());
    return next;
}

} // namespace ew::sandbox
