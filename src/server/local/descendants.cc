#include "server/local/descendants.h"

#include <unistd.h>

#include <algorithm>

namespace ew::server {

void Descendants::refresh(const std::vector<pid_t>& leaders,
                          const std::vector<std::uint64_t>& serials) {
    lost_.clear();
    if (!os::has_children()) return;
    for (const pid_t child : os::children_of(::getpid())) {
        const bool is_leader = std::ranges::find(leaders, child) != leaders.end();
        if (!is_leader && !adopted_.contains(child)) look_at(child, serials);
    }
}

void Descendants::look_at(pid_t child, const std::vector<std::uint64_t>& serials) {
    const std::optional<os::ProcessIdentity> alive = os::living_process(child);
    if (!alive) return;
    const auto seen = remembered_.find(child);
    if (seen != remembered_.end() && alive->start_time == seen->second.start_time)
        return adopt(child, seen->second.serial);
    const std::optional<std::uint64_t> serial = cookies_.serial_of(child);
    if (serial && std::ranges::find(serials, *serial) != serials.end())
        adopt(child, *serial);
    else if (cookies_.has_own_mark() && serial != os::Cookies::own_serial)
        lost_.push_back(*alive);
}

std::vector<os::ProcessIdentity> Descendants::members(std::uint64_t serial, pid_t leader) const {
    std::vector<os::ProcessIdentity> found;
    if (leader != 0) found = os::descendants_of(leader);
    for (const auto& [orphan, owner] : adopted_) {
        if (owner != serial) continue;
        if (const auto alive = os::living_process(orphan)) found.push_back(*alive);
        const std::vector<os::ProcessIdentity> below = os::descendants_of(orphan);
        found.insert(found.end(), below.begin(), below.end());
    }
    return found;
}

void Descendants::remember(std::uint64_t serial, const std::vector<os::ProcessIdentity>& members) {
    for (const os::ProcessIdentity& member : members)
        remembered_[member.pid] = {serial, member.start_time};
}

void Descendants::forget_all_of(std::uint64_t serial) {
    std::erase_if(remembered_, [&](const auto& entry) { return entry.second.serial == serial; });
}

} // namespace ew::server
