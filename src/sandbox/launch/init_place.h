// The paths of execward's own programs, fixed when execward was built.
#pragma once

#include <string>

namespace ew::sandbox {

// Returns the path beside the executable if this executable runs from its build directory;
// otherwise the installed path. No setting of a user or a client changes it.
std::string init_place();

// Returns the directory of the programs that commands find in PATH, in the same way.
std::string tools_place();

// Returns true in a sandbox of execward. Its filter does not allow another sandbox inside, and it
// hides our settings.
bool is_in_sandbox();

} // namespace ew::sandbox
