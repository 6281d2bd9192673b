// Reports of a process on its way into a sandbox to the server (init/wire.h).
#pragma once

#include "base/result.h"
#include "sandbox/init/wire.h"

#include <string_view>

namespace ew::sandbox {

// Ends this process without running the command. Its exit status is never taken for the command's:
// see Launch.
[[noreturn]] void leave();

// Reports why the command is not run, and leaves.
[[noreturn]] void refuse(const Error& error);

// Reports a failed step (wire.h), and leaves. `about`: the path concerned, or nothing.
[[noreturn]] void fail_start(wire::Step step, int error, std::string_view about);

// Best effort: if it cannot be sent, an end without `applied` means that the command was not run.
void send(wire::Record record, std::string_view text, int descriptor = -1);

} // namespace ew::sandbox
