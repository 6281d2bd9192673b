// What the gateways of a server, or of one run, have in common.
#pragma once

#include "core/network/proxy.h"
#include "sandbox/gateway/look_up_room.h"

namespace ew::sandbox {

// Lives longer than the gateways that borrow it.
struct WayOut {
    LookUpRoom look_ups = {};
    core::Proxies proxies = {}; // of the machine
};

} // namespace ew::sandbox
