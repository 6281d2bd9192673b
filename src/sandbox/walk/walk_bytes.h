// Orders and findings of walks as bytes, for other processes (base/plain_bytes.h).
#pragma once

#include "sandbox/walk/walk_order.h"

#include <optional>
#include <string>
#include <string_view>

namespace ew::sandbox {

std::string encode(const WalkOrder& order);
std::string encode(const WalkFindings& findings);

// Return nullopt if the bytes are incomplete.
std::optional<WalkOrder> decode_walk_order(std::string_view bytes);
std::optional<WalkFindings> decode_walk_findings(std::string_view bytes);

} // namespace ew::sandbox
