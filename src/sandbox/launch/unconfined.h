// A start on a machine where nothing can confine anything, which best effort allows.
#pragma once

#include "sandbox/plan/init_order.h"

namespace ew::sandbox {

// Becomes the command, in what would have become its sandbox. That everything is missing is known
// to the server.
[[noreturn]] void run_unconfined(InitOrder order);

} // namespace ew::sandbox
