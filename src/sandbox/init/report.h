// Reports of execward-init to the server, on wire::status_fd.
#pragma once

#include "sandbox/init/wire.h"

#include <cstddef>
#include <cstdint>

namespace ew::sandbox::init {

constexpr int failure_code = 125; // exit status: the command did not run

// Sends one packet, with a descriptor unless it is -1. Returns 0 or errno.
int send_record(const wire::Record& record, const void* text, int descriptor);

// Reports that everything is in force, and which mounts can be written to. Returns 0 or errno.
int tell_applied(int listener, const std::uint64_t* mounts, std::size_t count);

// Reports why the command does not run, and ends this process. `about` is a path or "".
[[noreturn]] void fail(wire::Step step, int error, const char* about = "", int code = failure_code);

} // namespace ew::sandbox::init
