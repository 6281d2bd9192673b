// Parses one JSON text at a time and checks it whole. Values die at the next parse.
#pragma once

#include "base/result.h"

#include <memory>
#include <string_view>

namespace ew::json {

struct Value;

struct ParseLimits {
    std::size_t depth = 64;
    std::size_t values = 262'144; // members count their value, not their name
};

class Parser {
public:
    explicit Parser(ParseLimits limits = {});
    ~Parser();
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;

    // `text` must be followed by ByteBuffer::padding readable bytes. The value lives until the next
    // parse. Errors: parse (not JSON, not UTF-8), invalid_request (a number beyond
    // 64 bits), limit.
    Result<const Value*> parse(std::string_view text);

    // Gives back the memory that a large text took. The value of the last parse dies.
    void trim();

private:
    struct State;
    ParseLimits limits_;
    std::unique_ptr<State> state_;
};

} // namespace ew::json
