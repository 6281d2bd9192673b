// Which of the addresses that were found for a destination may be connected to.
#pragma once

#include "core/network/hosts.h"
#include "sandbox/gateway/look_up.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

// Why a connection to a proxy of the machine is refused.
constexpr std::string_view is_a_proxy =
    "it is a proxy of the machine, by which every host could be reached";

struct Candidates {
    std::vector<core::Internet> addresses = {}; // in the order in which they should be tried
    std::string refusal = {};                   // why there are none, if that is not only bad luck
};

// `answered`: somebody has allowed the destination when asked, though no rule does. Where a name
// has several addresses, only those that may be reached count. `taken`: addresses of proxies that
// listen on that port, which no program reaches.
Candidates candidates_for(std::span<const core::HostRule> rules, const core::Destination& there,
                          bool answered, const FoundHost& found,
                          std::span<const core::Internet> taken);

} // namespace ew::sandbox
