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

    // A wait for a port looks at the machine again and again: when it is due, the caller tells the
    // ports on which the program listens. Returns nullopt for other waits.
    std::optional<TimePoint> next_look() const;
    void look_at_ports(const std::vector<std::uint16_t>& ports, TimePoint now);

    bool wants_ports() const { return port_ && !end_; }

    // Set when output or a port has ended the wait.
    const std::optional<protocol::WaitEnd>& end() const { return end_; }

private:
    UntilWatch() = default;

    void search(const core::OutputLog& log);

    std::optional<core::Pattern> pattern_;
    std::optional<std::uint64_t> bytes_;
    std::optional<std::uint64_t> port_; // 0: any
    TimePoint next_look_;               // at the ports
    std::uint64_t from_ = 0;
    std::optional<std::uint64_t> searched_from_; // where the first piece began
    std::uint64_t searched_to_ = 0;
    std::optional<protocol::WaitEnd> end_;
};

// For a wait for a port of a program in another environment.
Error no_ports_there();

} // namespace ew::server
