// The state that a modern client carries from a question to its answer. The client can change or
// copy it, so it is authenticated, bound to one call, and counts for a short time. Pure.
#pragma once

#include "base/clock.h"

#include <optional>
#include <string>
#include <string_view>

namespace ew::mcp {

class StateSeal {
public:
    // `key` is secret: random bytes that only this process has.
    explicit StateSeal(std::string key) : key_(std::move(key)) {}

    // `call` stands for the tool and its arguments.
    std::string seal(std::string_view question, std::string_view call, TimePoint until) const;

    // Returns the question. Returns nullopt if the state was not sealed here for this call, or if
    // its time is over.
    std::optional<std::string> open(std::string_view state, std::string_view call,
                                    TimePoint now) const;

private:
    std::string mac(std::string_view body, std::string_view call) const;

    std::string key_;
};

} // namespace ew::mcp
