#include "sandbox/gateway/candidates.h"

#include <algorithm>
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
        std::string why = std::ranges::find(taken, one.address) != taken.end()
                              ? std::string(is_a_proxy)
                              : core::refusal_of(rules, there, one.address, one.is_own);
        if (why.empty())
            candidates.addresses.push_back(one.address);
        else if (candidates.refusal.empty())
            candidates.refusal = std::move(why);
    }
    return candidates;
}

} // namespace ew::sandbox
