// The last steps into a sandbox, by the order in wire::order_fd.
#pragma once

namespace ew::sandbox::init {

// As the first process of a pid namespace it forks: the child becomes the command, and the parent
// stays as the first process. Otherwise it becomes the command itself. `locks`: bubblewrap has made
// the mounts, which are locked first.
[[noreturn]] void run(bool locks);

} // namespace ew::sandbox::init
