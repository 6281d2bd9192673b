// A script that is too long for a word of a command line (MAX_ARG_STRLEN in execve(2)): the shell
// reads it from a descriptor.
#pragma once

#include "base/unique_fd.h"

#include <cstddef>
#include <string_view>

namespace ew {

constexpr int script_fd = 9; // dash knows only descriptors of one digit
constexpr std::size_t longest_script = 8 << 20;

// Returns a memory file that nobody can change any more. It is closed on exec, and its descriptor
// is above script_fd. Returns an empty descriptor and sets errno if there is no memory for it.
// Allocates nothing.
UniqueFd make_script_file(std::string_view content);

} // namespace ew
