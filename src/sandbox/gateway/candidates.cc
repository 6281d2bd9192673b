#include "sandbox/gateway/candidates.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ew::sandbox {

Candidates candidates_for(std::span<const core::HostRule> rules, const core::Destination& there,
                          bool answered, const FoundHost& found,
                          std::span<const core::Internet> taken) {
    std::vector<core::HostRule> with_answer;
    if (answered) {
        with_answer = core::with_answer(rules, there);
        rules = with_answer;
    }
    Candidates candidates;
    for (const FoundAddress& one : found.addresses) {
        const std::optional<core::Internet> carried = core::carried_ipv4(one.address);
        const bool is_taken = std::ranges::any_of(taken, [&](const core::Internet& address) {
            return address == one.address || address == carried;
        });
        std::string why = is_taken ? std::string(is_a_proxy)
                                   : core::refusal_of(rules, there, one.address, one.is_own);
        if (why.empty())
            candidates.addresses.push_back(one.address);
        else if (candidates.refusal.empty())
            candidates.refusal = std::move(why);
    }
    return candidates;
}

} // namespace ew::sandbox
