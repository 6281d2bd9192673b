// What a model should know before its first call: how this session confines commands, and when a
// person is asked.
#pragma once

#include "protocol/settings.h"

#include <string>

namespace ew::mcp {

std::string instructions_for(const protocol::Settings& settings);

// The name of the sandbox of these settings.
std::string mode_of(const protocol::Settings& settings);

} // namespace ew::mcp
