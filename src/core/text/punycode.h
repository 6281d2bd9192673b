// Names of hosts in other scripts, as a person reads them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ew::core {

// Returns the name with its labels "xn--…" decoded (RFC 3492), as UTF-8, or nullopt if none can be
// decoded. The result is not safe to show: see visible() and has_mixed_scripts().
std::optional<std::string> decoded_host(std::string_view name);

} // namespace ew::core
