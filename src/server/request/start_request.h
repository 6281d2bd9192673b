// From the params of process/start to the request for the operating system.
#pragma once

#include "base/error.h"
#include "core/environment.h"
#include "os/spawn.h"
#include "protocol/process_start.h"

#include <cstdint>
#include <optional>

namespace ew::server {

core::Variables own_environment();

os::WindowSize window_size(const protocol::WindowSize& size);

os::SpawnRequest spawn_request(const protocol::StartParams& params);

// Limits the open files of the program, unless the request has such a limit.
void limit_open_files(os::SpawnRequest& request, const rlimit& limit);

// Marks the process and all its descendants (os/cookie.h), if `cookie` is set.
void mark(os::SpawnRequest& request, std::optional<std::uint64_t> cookie);

} // namespace ew::server
