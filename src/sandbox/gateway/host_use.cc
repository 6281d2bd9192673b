#include "sandbox/gateway/host_use.h"

#include <algorithm>

namespace ew::sandbox {

void HostUses::add(const HostUse& use) {
    const auto known = std::ranges::find_if(list_, [&](const HostUse& other) {
        return other.there.host == use.there.host && other.there.port == use.there.port;
    });
    if (known == list_.end()) {
        if (list_.size() < most) list_.push_back(use);
        return;
    }
    known->connections += use.connections;
    known->sent += use.sent;
    known->received += use.received;
}

} // namespace ew::sandbox
