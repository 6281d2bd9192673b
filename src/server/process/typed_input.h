// The bytes that a request types into a process.
#pragma once

#include "base/result.h"
#include "core/keys.h"

#include <optional>
#include <string>
#include <vector>

namespace ew::server {

// The parts are typed in this order.
struct TypedInput {
    std::string text;
    std::optional<std::string> paste;
    std::vector<std::string> keys; // names
};

// Error: there is no such key.
Result<std::string> bytes_of(const TypedInput& input, const core::KeyModes& modes);

} // namespace ew::server
