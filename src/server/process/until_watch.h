// What a wait looks for in the output of its program. Pure.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "core/output/output_log.h"
#include "core/output/pattern.h"
#include "protocol/until.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ew::server {

class UntilWatch {
public:
    // The output that counts begins at byte `from` of the log. Errors: the pattern.
    static Result<UntilWatch> of(const protocol::Until& until, std::uint64_t from);

    // The caller calls this once in the beginning, and after each read, before the log drops
    // anything.
    void look_at(const core::OutputLog& log);

    // What the caller finds out about the program.
    struct Look {
        std::vector<std::uint16_t> ports = {}; // that it listens on
        bool waits_for_input = false;
    };

    // A wait for a port or for input needs a look again and again. Returns nullopt for other waits.
    std::optional<TimePoint> next_look() const;
    void take(const Look& look, TimePoint now);

    bool wants_ports() const { return port_ && !end_; }

    bool wants_input() const { return wants_input_ && !end_; }

    // Set when output or a look has ended the wait.
    const std::optional<protocol::WaitEnd>& end() const { return end_; }

private:
    UntilWatch() = default;

    void search(const core::OutputLog& log);

    std::optional<core::Pattern> pattern_;
    std::optional<std::uint64_t> bytes_;
    std::optional<std::uint64_t> port_; // 0: any
    bool wants_input_ = false;
    TimePoint next_look_;
    std::uint64_t from_ = 0;
    std::optional<std::uint64_t> searched_from_; // where the first piece began
    std::uint64_t searched_to_ = 0;
    std::optional<protocol::WaitEnd> end_;
};

// A program in another environment cannot be looked at. Returns why a wait that needs it is
// refused, or nullopt for other waits.
std::optional<Error> refusal_elsewhere(const protocol::Until& until);

} // namespace ew::server
