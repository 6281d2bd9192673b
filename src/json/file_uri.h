// Conversion of file URIs (RFC 8089) to native paths.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ew::json {

// Returns the path that `text` names. `text` is an absolute path, returned unchanged, or a file URI
// without a host (or with the host "localhost"). In a URI, "." and ".." segments are folded and
// percent escapes are decoded to any byte but NUL. Returns nullopt for another scheme or host, a
// query or fragment, a relative path, or an invalid escape.
std::optional<std::string> path_from_text(std::string_view text);

} // namespace ew::json
