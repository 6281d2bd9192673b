// A JSON text, parsed. The values live as long as this object.
#pragma once

#include "base/byte_buffer.h"
#include "json/parser.h"
#include "json/value.h"

#include <string>
#include <string_view>

namespace ew::test {

class Parsed {
public:
    explicit Parsed(std::string_view json, json::ParseLimits limits = {})
        : parser_(limits), result_(parse(json)) {}

    bool is_json() { return static_cast<bool>(result_); }

    const Error& error() { return result_.error(); }

    const json::Value* value() { return *result_; }

    simdjson::dom::element element() { return value()->element; }

    // Returns the value of a JSON string.
    std::string string() {
        std::string_view text;
        return element().get(text) == simdjson::SUCCESS ? std::string(text) : "(no string)";
    }

private:
    Result<const json::Value*> parse(std::string_view json) {
        text_.append(json);
        (void)text_.reserve(0); // the parser reads the padding
        return parser_.parse(text_.view());
    }

    ByteBuffer text_;
    json::Parser parser_;
    Result<const json::Value*> result_;
};

} // namespace ew::test
