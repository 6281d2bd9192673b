// A parsed JSON value. Only the files that read values include this (it brings simdjson.h).
#pragma once

#include <simdjson.h>

namespace ew::json {

struct Value {
    simdjson::dom::element element;
};

} // namespace ew::json
