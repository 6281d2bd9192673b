// Codex's managed network: which of its forms a network by host stands for. The forms are those of
// Codex 0.171 (network-proxy); what they say beyond names of hosts is refused, unless leaving it
// out only makes the network stricter.
#pragma once

#include "base/result.h"
#include "core/network/hosts.h"
#include "protocol/process_start.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::server {

Error no_managed_network(std::string member, std::string_view why);

// A proxy of the client's that listens on this machine's loopback decides about more than names,
// and no program of a network by host reaches it.
Error refusal_of_managed_network();

// Errors: sandbox_unavailable, with the member that cannot be kept.
Result<std::vector<core::HostRule>>
rules_of_network_proxy(const protocol::NetworkProxyRequest& request);

} // namespace ew::server
