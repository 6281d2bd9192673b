// The process that becomes the command: puts the order in force on itself, reports it, and executes
// the command. A step that fails is reported and ends the process.
#pragma once

#include "sandbox/init/order_reader.h"

namespace ew::sandbox::init {

// Expects the descriptors 0, 1, 2 and wire::status_fd (closed on exec).
[[noreturn]] void become_command(const Order& order);

} // namespace ew::sandbox::init
