#include "server/confine/sandbox_host.h"

#include "base/log.h"
#include "sandbox/aftermath/aftermath.h"
#include "sandbox/launch/placeholders.h"
#include "sandbox/policy/troubles.h"
#include "sandbox/trial/trial_memory.h"
#include "server/connection/source.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace ew::server {

namespace {

constexpr Millis trial_time{30'000};  // how long the whole trial may take
constexpr Millis repair_time{10'000}; // how long a lacking ability is believed to be lacking

// Does a plan of the policy walk a workspace?
bool searches(const sandbox::Policy& policy) {
    if (policy.file_system != sandbox::FileSystem::restricted) return false;
    return std::ranges::any_of(policy.entries, [](const sandbox::Entry& entry) {
        return entry.access == sandbox::Access::write ||
               (entry.access == sandbox::Access::deny && entry.kind == sandbox::Entry::Kind::glob);
    });
}

bool has_ended(int socket) {
    pollfd other_end = {socket, 0, 0};
    return ::poll(&other_end, 1, 0) == 1;
}

} // namespace

sandbox::WayOut* SandboxHost::way_out(const sandbox::Policy& policy) {
    if (way_out_ != nullptr && policy.network == sandbox::Network::hosts &&
        !std::exchange(has_warned_, true))
        for (const std::string& trouble : way_out_->proxies.troubles())
            log::warning("sandbox", "{}", trouble);
    return way_out_;
}

void SandboxHost::need(TimePoint now) {
    const bool may_be_repaired =
        machine_ && !machine_->troubles.empty() && now - found_at_ > repair_time;
    if (may_be_repaired) machine_.reset();
    if (machine_ || trial_) return;
    failure_.reset();
    found_at_ = now;
    const auto body = [places = places_, journal = journal_, trusts_memory = trusts_memory_] {
        if (!journal.empty()) {
            sandbox::sweep(journal);
            (void)sandbox::sweep_looks(sandbox::look_journal_beside(journal)); // no client to tell
        }
        if (trusts_memory)
            if (const std::optional<sandbox::Machine> machine = sandbox::remembered_trial(places))
                return sandbox::encode(*machine);
        const sandbox::Machine machine = sandbox::run_trial(places);
        sandbox::remember_trial(places, machine);
        return sandbox::encode(machine);
    };
    Result<os::Errand> errand = os::Errand::begin(body, {}, now + trial_time);
    if (!errand) {
        (void)finish(std::move(errand.error()));
        return;
    }
    trial_.emplace(std::move(*errand));
    (void)poller_.watch(trial_->fd(), token_of(Source::machine), os::Interest::read);
}

const SandboxHost::Place* SandboxHost::find(const SandboxOrder& order) const {
    const auto place = std::ranges::find_if(places_of_policies_,
                                            [&](const Place& each) { return each.is_for(order); });
    return place == places_of_policies_.end() ? nullptr : &*place;
}

const sandbox::Namespaces* SandboxHost::namespaces(const SandboxOrder& order) const {
    const Place* const place = find(order);
    return place != nullptr && place->namespaces.exist() ? &place->namespaces : nullptr;
}

const sandbox::Namespaces* SandboxHost::any_namespaces() const {
    const auto place = std::ranges::find_if(
        places_of_policies_, [](const Place& each) { return each.namespaces.exist(); });
    return place == places_of_policies_.end() ? nullptr : &place->namespaces;
}

bool SandboxHost::may_launch(const SandboxOrder& order) const {
    const Place* const place = find(order);
    return place == nullptr || place->maker == 0;
}

// Programs keep the namespaces that they are in: only what they left in /tmp goes with the least
// recently used place.
SandboxHost::Place& SandboxHost::place_for(const SandboxOrder& order) {
    std::vector<Place>& places = places_of_policies_;
    const auto found =
        std::ranges::find_if(places, [&](const Place& place) { return place.is_for(order); });
    if (found != places.end()) {
        std::rotate(found, std::next(found), places.end());
        return places.back();
    }
    const auto unused = std::ranges::find(places, std::uint64_t{0}, &Place::maker);
    if (places.size() >= most_places && unused != places.end()) places.erase(unused);
    return places.emplace_back(Place{order.base_policy(), order.context.workspace_roots});
}

void SandboxHost::note_launch(std::uint64_t serial, const SandboxOrder& order) {
    if (!machine_->shares_namespaces) return;
    Place& place = place_for(order);
    if (!place.namespaces.exist()) place.maker = serial;
}

bool SandboxHost::keep_namespaces(std::uint64_t serial, const SandboxOrder& order,
                                  sandbox::Namespaces made, bool is_decided) {
    if (made.exist()) place_for(order).namespaces = std::move(made);
    const auto place = std::ranges::find(places_of_policies_, serial, &Place::maker);
    if (place == places_of_policies_.end()) return false;
    if (!place->namespaces.exist() && !is_decided) return false;
    place->maker = 0;
    return true;
}

void SandboxHost::make_ready() {
    if (!machine_ || machine_->init.empty() || (ready_ && !ready_->has_order())) return;
    ready_.reset();
    if (Result<sandbox::StartProcess> process = sandbox::StartProcess::begin(machine_->init))
        ready_.emplace(std::move(*process)); // otherwise the next launch begins its own
}

// It is of use for what is searched, in a tree that other programs change too.
int SandboxHost::walker(const sandbox::Policy& policy) {
    if (!machine_->has_mounts || machine_->init.empty() || !searches(policy)) return -1;
    if (walker_ && has_ended(walker_->socket.get())) walker_.reset();
    if (walker_) return walker_->socket.get();
    if (walkers_ == most_walkers) return -1;
    ++walkers_;
    Result<os::Companion> process = os::Companion::begin(machine_->init, {"walk"});
    if (!process) return -1;
    UniqueFd socket = process->take_socket();
    walker_.emplace(Walker{std::move(*process), std::move(socket)});
    return walker_->socket.get();
}

void SandboxHost::add_roots(sandbox::Context& context) const {
    for (const os::HeldDirectory& root : roots_)
        context.known.push_back(root.known);
}

// Two starts may have found one root at the same time: the first report counts.
void SandboxHost::keep_roots(std::vector<os::HeldDirectory> roots) {
    for (os::HeldDirectory& root : roots) {
        const auto is_same = [&root](const os::HeldDirectory& other) {
            return other.known.name == root.known.name;
        };
        if (std::ranges::none_of(roots_, is_same)) roots_.push_back(std::move(root));
    }
}

void SandboxHost::doubt() {
    ready_.reset();
    for (Place& place : places_of_policies_)
        place.namespaces = {};
    trusts_memory_ = false;
    if (!trial_) machine_.reset();
}

bool SandboxHost::on_ready() {
    if (!trial_) return false;
    const std::optional<std::string> text = trial_->take_result();
    if (!text) return false;
    return finish(sandbox::decode_machine(*text));
}

bool SandboxHost::on_time(TimePoint now) {
    if (!trial_ || now < trial_->deadline()) return false;
    return finish(Error{ErrorKind::internal, "the trial of the sandbox did not end in time"});
}

bool SandboxHost::finish(Result<sandbox::Machine> found) {
    if (trial_) poller_.unwatch(trial_->fd());
    trial_.reset();
    if (!found) {
        // A failed trial says nothing about the machine: starts that wait now are refused, and the
        // next start begins a new trial.
        failure_ = std::move(found.error());
        return true;
    }
    failure_ = sandbox::exhaustion_of_trial(*found);
    if (failure_) return true;
    trusts_memory_ = true;
    machine_.emplace(std::move(*found));
    return true;
}

std::optional<TimePoint> SandboxHost::next_deadline() const {
    if (!trial_) return std::nullopt;
    return trial_->deadline();
}

} // namespace ew::server
