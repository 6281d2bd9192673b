#include "sandbox/supervise/denials.h"

#include "core/output/utf8.h"

#include <algorithm>
#include <utility>

namespace ew::sandbox {

void DenialLog::add(Denial denial) {
    total_ += denial.count;
    if (denial.target.size() > longest_target) {
        denial.target.resize(longest_target);
        denial.target.resize(longest_target - core::unfinished_tail(denial.target));
    }
    const auto known = std::find_if(kept_.begin(), kept_.end(), [&](const Denial& other) {
        return other.kind == denial.kind && other.operation == denial.operation &&
               other.target == denial.target;
    });
    if (known != kept_.end())
        known->count += denial.count;
    else if (kept_.size() < most_kept)
        kept_.push_back(std::move(denial));
}

} // namespace ew::sandbox
