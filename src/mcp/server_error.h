// An error with which the server answers a request.
#pragma once

#include "protocol/session.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ew::mcp {

struct ServerError {
    std::int64_t code = 0;
    std::string message = {};
    std::optional<protocol::ErrorData> data = {};
};

template <class Visitor>
void fields(Visitor& visit, ServerError& error) {
    visit.required("code", error.code);
    visit.required("message", error.message);
    visit.optional("data", error.data);
}

} // namespace ew::mcp
