// Params of a request to their struct.
#pragma once

#include "base/result.h"

namespace ew::json {
struct Value;
}

namespace ew::protocol {

// Absent params (null) and an empty array count as {}. Error: invalid_params, with the member's
// path. Instantiated in decode.cc for every params struct, so that simdjson.h stays there.
template <class Params>
Result<Params> decode(const json::Value* params);

// Methods without parameters take nothing, null, {} and [], and refuse anything else.
Result<void> expect_no_params(const json::Value* params);

} // namespace ew::protocol
