#include "server/process/process_table.h"

#include "base/log.h"
#include "core/output/utf8.h"
#include "server/process/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ew::server {

Process* ProcessTable::find(std::string_view id) {
    for (const auto& place : places_)
        if (place && place->id == id) return place.get();
    return nullptr;
}

Process* ProcessTable::find(std::uint64_t serial) {
    const auto& place = places_[serial % places];
    return place && place->serial == serial ? place.get() : nullptr;
}

Error ProcessTable::unknown(std::string_view id) const {
    if (was_pruned(id))
        return {
            ErrorKind::pruned_process,
            fmt::format("process '{}' has ended and its record was pruned", core::shortened(id)),
            "the 64 newest entries are kept: read what you need before starting more"};
    return {ErrorKind::unknown_process, fmt::format("no process '{}'", core::shortened(id)),
            "process/list shows the processes there are"};
}

std::size_t ProcessTable::free_place() const {
    const auto free = std::find(places_.begin(), places_.end(), nullptr);
    return static_cast<std::size_t>(free - places_.begin());
}

Process* ProcessTable::add(std::string id, core::OutputLimits limits, Backend& backend,
                           std::uint64_t bulk_sent) {
    std::size_t place = free_place();
    if (place == places) {
        if (!prune(bulk_sent)) return nullptr;
        place = free_place();
    }
    if (pruned_.erase(id) > 0) std::erase(pruned_order_, id); // it names a new process now
    const std::uint64_t serial = ++generation_ * places + place;
    places_[place] = std::make_unique<Process>(serial, std::move(id), limits);
    places_[place]->backend = &backend;
    touch(*places_[place]);
    return places_[place].get();
}

void ProcessTable::remove(Process& process) {
    places_[process.serial % places].reset();
}

bool ProcessTable::prune(std::uint64_t bulk_sent) {
    std::vector<Process*> by_use;
    for (const auto& place : places_)
        by_use.push_back(place.get());
    std::sort(by_use.begin(), by_use.end(),
              [this](const Process* a, const Process* b) { return used_at(*a) < used_at(*b); });
    refresh();
    const auto found = std::find_if(by_use.begin(), by_use.end(), [&](const Process* process) {
        return process->is_settled(bulk_sent) && process->backend->descendants(*process).empty();
    });
    if (found == by_use.end()) return false;

    Process& victim = **found;
    log::debug("table", "pruned '{}'", victim.id);
    if (pruned_.insert(victim.id).second) pruned_order_.push_back(victim.id);
    if (pruned_order_.size() > remembered_pruned) {
        pruned_.erase(pruned_order_.front());
        pruned_order_.pop_front();
    }
    remove(victim);
    return true;
}

void ProcessTable::refresh() const {
    std::set<Backend*> backends;
    for (const auto& place : places_)
        if (place) backends.insert(place->backend);
    for (Backend* const backend : backends)
        backend->refresh();
}

std::size_t ProcessTable::live_count() const {
    return static_cast<std::size_t>(std::count_if(
        places_.begin(), places_.end(), [](const auto& place) { return place && !place->exit; }));
}

} // namespace ew::server
