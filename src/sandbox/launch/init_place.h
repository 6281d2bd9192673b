// Where execward-init is: one place, fixed when execward was built.
#pragma once

#include <string>

namespace ew::sandbox {

// Beside the executable in the directory that it was built in, if that is where this one runs; else
// where it is installed. Nothing that a user or a client sets has a say in it.
std::string init_place();

} // namespace ew::sandbox
