// The 64 places for processes, and which process is pruned when all are in use.
#pragma once

#include "server/process/process.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace ew::server {

class ProcessTable {
public:
    static constexpr std::size_t places = 64;
    static constexpr std::size_t warning_mark = 60; // living processes
    static constexpr std::size_t remembered_pruned = 4096;

    Process* find(std::string_view id);
    Process* find(std::uint64_t serial);

    bool was_pruned(std::string_view id) const { return pruned_.contains(std::string(id)); }

    // The error for a request that names no process with this id.
    Error unknown(std::string_view id) const;

    // Counts as a use, for the order of pruning.
    void touch(const Process& process) { last_used_[process.serial % places] = ++uses_; }

    // Adds a process. If all places are in use, prunes the least recently used process that has
    // ended, is fully reported and has no living descendants. Returns null if there is no such
    // process. `bulk_sent` is how far the bulk lane was sent.
    Process* add(std::string id, core::OutputLimits limits, Backend& backend,
                 std::uint64_t bulk_sent);
    void remove(Process& process);

    // Brings the descendants that backends report up to date.
    void refresh() const;

    std::size_t live_count() const;

    template <class Function>
    void for_each(Function function) {
        for (const auto& place : places_)
            if (place) function(*place);
    }

    // Serial numbers of processes that match, for a loop whose body may remove processes.
    template <class Predicate>
    std::vector<std::uint64_t> serials_of(Predicate matches) {
        std::vector<std::uint64_t> serials;
        for_each([&](const Process& process) {
            if (matches(process)) serials.push_back(process.serial);
        });
        return serials;
    }

    Process* at(std::size_t place) { return places_[place].get(); }

private:
    std::uint64_t used_at(const Process& process) const {
        return last_used_[process.serial % places];
    }

    std::size_t free_place() const;
    bool prune(std::uint64_t bulk_sent);

    std::array<std::unique_ptr<Process>, places> places_;
    std::array<std::uint64_t, places> last_used_ = {}; // the value of uses_ at the last use
    std::uint64_t uses_ = 0;
    std::uint64_t generation_ = 0;
    std::unordered_set<std::string> pruned_;
    std::deque<std::string> pruned_order_;
};

} // namespace ew::server
