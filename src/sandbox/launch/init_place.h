// The path of execward-init, fixed when execward was built.
#pragma once

#include <string>

namespace ew::sandbox {

// Returns the path beside the executable if this executable runs from its build directory;
// otherwise the installed path. No setting of a user or a client changes it.
std::string init_place();

} // namespace ew::sandbox
