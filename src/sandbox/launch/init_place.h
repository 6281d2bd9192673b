// The paths of execward's own programs: fixed when execward was built or, in a relocatable build,
// where they lie beside the executable.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace ew::sandbox {

// Returns the path beside the executable if this executable runs from its build directory;
// otherwise the installed path. In a relocatable build it is ../libexec/execward-init, seen from
// the directory of the executable, and nothing else. No setting of a user or a client changes it.
std::string init_place();

// Returns the path of ../libexec/NAME, seen from the directory of the program. Returns an empty
// text, where nothing can be, if the program's path has no two directories.
std::string part_beside(std::string_view program, std::string_view name);

// Returns init_place() for a use that no trial has preceded. A relocatable build checks the program
// there as the trial does. Errors: those of find_own_init().
Result<std::string> checked_init_place();

// Returns the directory of the programs that commands find in PATH, in the same way.
std::string tools_place();

// Returns true in a sandbox of execward. Its filter does not allow another sandbox inside, and it
// hides our settings.
bool is_in_sandbox();

} // namespace ew::sandbox
