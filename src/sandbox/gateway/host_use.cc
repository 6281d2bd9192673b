#include "sandbox/gateway/host_use.h"

#include <algorithm>
#include <iterator>

namespace ew::sandbox {

void HostUses::add(const HostUse& use) {
    auto known = std::ranges::find_if(list_, [&](const HostUse& other) {
        return other.there.host == use.there.host && other.there.port == use.there.port;
    });
    if (known == list_.end() && list_.size() < most) return list_.push_back(use);
    if (known == list_.end()) {
        known = std::prev(list_.end());
        known->there = {.host = "further hosts"};
        known->rule = "";
    }
    known->connections += use.connections;
    known->sent += use.sent;
    known->received += use.received;
}

} // namespace ew::sandbox
