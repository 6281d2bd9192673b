// What a process on its way into a sandbox tells the server (init/wire.h).
#pragma once

#include "base/result.h"
#include "sandbox/init/wire.h"

#include <string_view>

namespace ew::sandbox {

// Nothing was run. The exit status is never taken for the command's: see Launch.
[[noreturn]] void leave();

// Tells why nothing is run, and leaves.
[[noreturn]] void refuse(const Error& error);

// Best effort: if it cannot be sent, the end without `applied` says that nothing was run.
void send(wire::Record record, std::string_view text, int descriptor = -1);

} // namespace ew::sandbox
