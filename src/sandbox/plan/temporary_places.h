// Directories for temporary files.
#pragma once

#include "sandbox/policy/policy.h"

#include <string>
#include <string_view>

namespace ew::sandbox {

bool is_for_temporary_files(const std::string& path);

// Returns why $TMPDIR does not become writable, or an empty text. A user may set the variable
// without the intent that commands write there.
std::string_view fault_of_tmpdir(const Context& context);

} // namespace ew::sandbox
