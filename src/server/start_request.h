// From the params of process/start to what is started.
#pragma once

#include "base/error.h"
#include "os/spawn.h"
#include "protocol/process.h"

#include <cstdint>
#include <optional>

namespace ew::server {

os::WindowSize window_size(const protocol::WindowSize& size);

// Confinement that was asked for and cannot be had means: not run. Absent: none was asked for.
std::optional<Error> refusal_of_confinement(const protocol::StartParams& params);

// `cookie` marks the process and all its descendants (os/cookie.h).
os::SpawnRequest spawn_request(const protocol::StartParams& params,
                               std::optional<std::uint64_t> cookie);

} // namespace ew::server
