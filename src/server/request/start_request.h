// From the params of process/start to what is started.
#pragma once

#include "base/error.h"
#include "core/environment.h"
#include "os/spawn.h"
#include "protocol/process.h"

#include <cstdint>
#include <optional>

namespace ew::server {

core::Variables own_environment();

os::WindowSize window_size(const protocol::WindowSize& size);

os::SpawnRequest spawn_request(const protocol::StartParams& params);

// What is not limited otherwise may open so many files.
void limit_open_files(os::SpawnRequest& request, const rlimit& limit);

// Marks the process and all its descendants (os/cookie.h), where that is possible.
void mark(os::SpawnRequest& request, std::optional<std::uint64_t> cookie);

} // namespace ew::server
