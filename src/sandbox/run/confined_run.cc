#include "sandbox/run/confined_run.h"

#include "core/text/display.h"
#include "sandbox/gateway/gateway.h"
#include "sandbox/supervise/supervisor.h"

#include <fmt/format.h>
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
    run.hosts_ = order.context.hosts;
    run.way_out_ = order.way_out;
    run.launch_ = TRY(Launch::begin(std::move(order), ::getpid()));
    return run;
}

std::optional<Launch::Outcome> ConfinedRun::outcome() {
    std::optional<Launch::Outcome> outcome = launch_->outcome();
    is_decided_ = outcome.has_value();
    if (outcome && !outcome->failure) leader_ = launch_->leader();
    return outcome;
}

Result<void> ConfinedRun::supervise(HostAsking* asking) {
    UniqueFd listener = launch_->take_listener();
    if (!listener) return {}; // the machine has no notifications
    const std::vector<std::uint64_t>& told = launch_->writable_mounts();
    if (supervision_.has_mounts)
        supervision_.mounts = told.empty() ? KnownMounts::of(leader_) : KnownMounts(told);
    supervision_.look = launch_->look();
    std::unique_ptr<Gateway> gateway;
    if (supervision_.has_hosts)
        gateway = TRY(Gateway::start(launch_->take_host_network(), std::move(hosts_), way_out_,
                                     clock_now(), asking));
    supervisor_ =
        TRY(Supervisor::start(std::move(listener), std::move(supervision_), std::move(gateway)));
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

void ConfinedRun::answer_host(std::uint64_t question, const HostVerdict& verdict, TimePoint now) {
    if (supervisor_) supervisor_->answer_host(question, verdict, now);
}

void ConfinedRun::on_supervisor(TimePoint now) {
    if (supervisor_) supervisor_->on_ready(now);
}

Result<void> ConfinedRun::end(TimePoint now) {
    Leftovers leftovers = drop_all(now);
    if (leftovers.empty()) return {};
    const bool has_look = leftovers.look.has_value();
    Result<os::Errand> begun = begin_cleanup(std::move(leftovers), journal_, now);
    if (!begun && has_look) note_missed_look(true);
    cleanup_ = TRY(std::move(begun));
    return {};
}

void ConfinedRun::end_and_wait(TimePoint now) {
    note_set_aside(clean_up(drop_all(now), journal_));
}

Leftovers ConfinedRun::drop_all(TimePoint now) {
    if (supervisor_) {
        supervisor_->on_ready(now); // a call right before the end counts too
        host_uses_ = supervisor_->finish_network();
        denials_ = supervisor_->denials();
        supervisor_.reset();
    }
    if (!launch_) return {};
    missing_ = launch_->missing();
    notes_ = launch_->notes();
    Leftovers leftovers;
    leftovers.placeholders = launch_->take_placeholders();
    leftovers.look = launch_->take_look();
    const std::optional<std::string> looked = launch_->look_result();
    if (const auto things = looked ? decode_set_aside(*looked) : std::nullopt) {
        leftovers.look.reset();
        note_set_aside(*things);
    } else if (looked) {
        note_missed_look(true);
    }
    launch_.reset();
    return leftovers;
}

void ConfinedRun::note_set_aside(const std::vector<SetAside>& things) {
    for (const SetAside& thing : things) {
        Denial denial;
        denial.kind = DenialKind::set_aside;
        denial.operation = "make";
        denial.target = thing.path;
        denial.rule = fmt::format("protected paths: {}", thing.danger);
        denial.moved_to = thing.moved_to;
        if (!thing.moved_to.empty())
            denial.allow = core::shell_quoted({"mv", "-nT", thing.moved_to, thing.path});
        denials_.add(std::move(denial));
    }
}

void ConfinedRun::note_missed_look(bool has_died) {
    Denial denial;
    denial.kind = DenialKind::set_aside;
    denial.operation = "look";
    denial.target = "what the command has left";
    denial.rule = fmt::format("protected paths: {}; the next start looks",
                              has_died ? "the look was ended" : "the look took too long");
    denials_.add(std::move(denial));
}

bool ConfinedRun::is_cleanup_over(TimePoint now) {
    if (const std::optional<std::string> result = cleanup_->take_result()) {
        if (const auto things = decode_set_aside(*result)) {
            note_set_aside(*things);
            return true;
        }
    } else if (now < cleanup_->deadline()) {
        return false;
    }
    note_missed_look(now < cleanup_->deadline());
    return true;
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
