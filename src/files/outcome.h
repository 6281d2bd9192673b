// The outcome of one operation: success, or an error and the object it concerns.
#pragma once

#include "files/wire.h"

#include <optional>
#include <string>
#include <string_view>

namespace ew::files {

// nullopt means success.
using Failure = std::optional<Failed>;

// Builds the message "path: text of strerror(3)".
Failed failed(std::string_view path, int error_number);

// Builds a message with our own wording.
Failed failed(Trouble trouble, std::string_view path, std::string_view words);

} // namespace ew::files
