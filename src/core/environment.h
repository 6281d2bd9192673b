// Which variables a child gets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::core {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct EnvironmentPolicy {
    enum class Inherit : std::uint8_t { all, core, none };

    Inherit inherit = Inherit::all;
    bool ignore_default_excludes = false;
    std::vector<std::string> exclude = {};      // patterns of names to drop
    Variables set = {};                         // added or replaced
    std::vector<std::string> include_only = {}; // if any: patterns of the only names to keep
};

// Does a shell pattern (*, ?, [...]) match the name? Case does not matter.
bool name_matches(const std::string& pattern, const std::string& name);

// The policy applied to `inherited`: inherit, drop what looks like a secret (unless told not to),
// drop `exclude`, add `set`, keep `include_only`. Variables of execward itself are never passed on.
Variables apply(const EnvironmentPolicy& policy, const Variables& inherited);

// `base` with the variables of `overlay` added or replaced; of a name that is there twice in it the
// last one counts.
Variables overlaid(Variables base, const Variables& overlay);

} // namespace ew::core
