// Decodes the params of a request into their struct.
#pragma once

#include "base/result.h"

namespace ew::json {
struct Value;
}

namespace ew::protocol {

// Absent params, null and an empty array count as {}. Errors: invalid_params with the path of the
// member. Instantiated in decode.cc for every params struct, so that only that file includes
// simdjson.h.
template <class Params>
Result<Params> decode(const json::Value* params);

} // namespace ew::protocol
