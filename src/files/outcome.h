// What comes of one operation: an errno and what it was about, or nothing wrong.
#pragma once

#include "files/wire.h"

#include <optional>
#include <string>
#include <string_view>

namespace ew::files {

// Absent: it has worked.
using Failure = std::optional<Failed>;

// "path: what strerror(3) says".
Failed failed(std::string_view path, int error_number);

// With words of our own.
Failed failed(Trouble trouble, std::string_view path, std::string_view words);

} // namespace ew::files
