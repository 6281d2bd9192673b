// What a command did with its network by host: the hosts that it reached, for the audit.
#pragma once

#include "core/network/hosts.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ew::sandbox {

struct HostUse {
    core::Destination there = {};
    std::string program = {}; // which connected first
    std::string rule = {};    // that allowed it: HostRule::origin
    std::uint64_t connections = 0;
    std::uint64_t sent = 0; // bytes, by the command
    std::uint64_t received = 0;
};

class HostUses {
public:
    static constexpr std::size_t most =
        256; // destinations; the last one stands for all others then

    // Adds up what has the same host and port.
    void add(const HostUse& use);

    const std::vector<HostUse>& list() const { return list_; }

private:
    std::vector<HostUse> list_;
};

} // namespace ew::sandbox
