// process/cast: the kept output of a terminal with its times.
#pragma once

#include "protocol/cast.h"

namespace ew::server {

struct Process;

// Requires a started process with a terminal.
protocol::CastResult cast_of(const Process& process, protocol::CastFormat format);

} // namespace ew::server
