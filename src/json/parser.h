// Parses one JSON text at a time and validates all of it. The next parse invalidates the values.
#pragma once

#include "base/result.h"

#include <memory>
#include <string_view>

namespace ew::json {

struct Value;

struct ParseLimits {
    std::size_t depth = 64;
    std::size_t values = 262'144; // an object member counts as one value; its name does not count
};

class Parser {
public:
    explicit Parser(ParseLimits limits = {});
    ~Parser();
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;

    // `text` must be followed by ByteBuffer::padding readable bytes. The value is valid until the
    // next parse. A number that does not fit into 64 bits becomes a fraction that no member takes,
    // so that it concerns only the member that has it. Errors: parse (not JSON, not UTF-8), limit.
    Result<const Value*> parse(std::string_view text);

    // Frees the memory that a large text needed. Invalidates the value of the last parse.
    void trim();

private:
    struct State;
    ParseLimits limits_;
    std::unique_ptr<State> state_;
};

} // namespace ew::json
