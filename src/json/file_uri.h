// File URIs (RFC 8089) to native paths.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ew::json {

// The path that `text` names: a file URI without host (or with "localhost"), or an absolute path as
// it is. In a URI "." and ".." segments are folded and percent escapes decoded, to any byte but
// NUL. Absent: another scheme or host, a query or fragment, a relative path, a broken escape.
std::optional<std::string> path_from_text(std::string_view text);

} // namespace ew::json
