// What a person would open so that a refused change of a file works. Nothing is looked up: paths
// are taken as written.
#pragma once

#include <string>
#include <string_view>

namespace ew::sandbox {

// Returns the directory to make writable for a change of `target` ("open", "mkdir", "unlink", …;
// for mkdir it may be the target itself). In a hidden directory of the home directory, this is the
// directory of one program, such as ~/.npm or ~/.cache/go-build, since programs make files all over
// it. Returns an empty string if no directory should be opened: "/", the home directory, or one
// above it.
std::string directory_to_open(std::string_view operation, std::string_view target,
                              std::string_view home);

// Is that path "/", the home directory, or one above it?
bool is_too_wide(std::string_view path, std::string_view home);

} // namespace ew::sandbox
