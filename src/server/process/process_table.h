// The 64 places for processes, and who has to leave when they are full.
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

    // What to answer if there is no process with this id.
    Error unknown(std::string_view id) const;

    // Counts as a use, for the order of pruning.
    void touch(const Process& process) { last_used_[process.serial % places] = ++uses_; }

    // A free place, made free if need be: the least recently used entry that is over, told, and has
    // no living descendants goes. Null: all are in use.
    // `bulk_sent` is how far the bulk lane was sent.
    Process* add(std::string id, core::OutputLimits limits, Backend& backend,
                 std::uint64_t bulk_sent);
    void remove(Process& process);

    // What backends tell of descendants is as of now.
    void refresh() const;

    std::size_t live_count() const;

    template <class Function>
    void for_each(Function function) {
        for (const auto& place : places_)
            if (place) function(*place);
    }

    // Serials of those that `matches`: for a loop whose body may remove entries.
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
    std::array<std::uint64_t, places> last_used_ = {}; // the count of uses then
    std::uint64_t uses_ = 0;
    std::uint64_t generation_ = 0;
    std::unordered_set<std::string> pruned_;
    std::deque<std::string> pruned_order_;
};

} // namespace ew::server
