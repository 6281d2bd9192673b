// Reports of execward-init to the server, on wire::status_fd.
#pragma once

#include "sandbox/init/wire.h"

namespace ew::sandbox::init {

constexpr int failure_code = 125; // exit status: the command did not run

// Sends one packet, with a descriptor unless it is -1. Returns 0 or errno.
int send_record(const wire::Record& record, const char* text, int descriptor);

// Reports that everything is in force. Returns 0 or errno.
int tell_applied(int listener);

// Reports why the command does not run, and ends this process. `about` is a path or "".
[[noreturn]] void fail(wire::Step step, int error, const char* about = "", int code = failure_code);

} // namespace ew::sandbox::init
