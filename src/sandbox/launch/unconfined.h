// A start on a machine that can enforce nothing, which best effort permits.
#pragma once

#include "sandbox/plan/init_order.h"

namespace ew::sandbox {

// Becomes the command, in the process that would have become its sandbox. The server knows that all
// guarantees are missing.
[[noreturn]] void run_unconfined(InitOrder order);

} // namespace ew::sandbox
