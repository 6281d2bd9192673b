// The answer to process/screen.
#pragma once

#include "core/screen/screen.h"
#include "protocol/screen.h"

#include <cstdint>

namespace ew::server {

// Rows that have changed after `since`.
protocol::ScreenResult screen_result(const core::Screen& screen, protocol::ScreenFormat format,
                                     std::uint64_t since);

} // namespace ew::server
