// The form of the answer to a call, and its time limits.
#pragma once

#include "protocol/exec.h"

#include <cstdint>
#include <optional>

namespace ew::server {

struct WaitTerms {
    std::uint64_t yield_ms = 0; // 0: wait for the exit
    std::optional<std::uint64_t> quiet_ms = {};
    std::optional<protocol::Until> until = {};
    std::uint64_t max_tokens = 0;
    protocol::ResultFormat format = protocol::ResultFormat::full;
};

} // namespace ew::server
