// Selects the environment variables of a child process.
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
    std::vector<std::string> exclude = {};      // patterns of variable names to remove
    Variables set = {};                         // added or replaced
    std::vector<std::string> include_only = {}; // if not empty: patterns of the only names to keep
};

// Returns true if the shell pattern (*, ?, [...]) matches the name. Ignores case.
bool name_matches(const std::string& pattern, const std::string& name);

// Applies the policy to `inherited`, in this order: inherit, remove variables that look like
// secrets (unless told not to), remove `exclude`, add `set`, keep `include_only`. Variables of
// execward itself are never passed on.
Variables apply(const EnvironmentPolicy& policy, const Variables& inherited);

// Returns `base` with the variables of `overlay` added or replaced. If `overlay` has a name twice,
// the last value counts.
Variables overlaid(Variables base, const Variables& overlay);

} // namespace ew::core
