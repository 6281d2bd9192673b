// The process that becomes the command: puts the order in force on itself, tells so, and executes
// it. Any step that fails is told, and ends it.
#pragma once

#include "sandbox/init/order_reader.h"

namespace ew::sandbox::init {

// Descriptors: 0, 1, 2 and wire::status_fd (closed on exec).
[[noreturn]] void become_command(const Order& order);

} // namespace ew::sandbox::init
