// A parsed JSON value. Include this only where values are read, because it includes simdjson.h.
#pragma once

#include <simdjson.h>

namespace ew::json {

struct Value {
    simdjson::dom::element element;
};

} // namespace ew::json
