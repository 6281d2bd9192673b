// What the kernel tells about a pipe or a terminal without reading from it.
#pragma once

#include <string>

namespace ew::os {

// Returns true if something can be read without blocking. Unlike readable_bytes() it also knows
// what the master of a terminal holds.
bool is_readable(int fd);

// Returns the name that /proc/PID/fd shows for the other end of this pipe, or for the terminal of
// this master. Returns an empty text for other descriptors.
std::string name_of_other_end(int fd);

} // namespace ew::os
