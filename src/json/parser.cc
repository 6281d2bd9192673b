#include "json/parser.h"

#include "json/value.h"

#include <fmt/format.h>

#include <algorithm>

namespace ew::json {

namespace {

constexpr std::size_t usual_capacity = 64 << 10;
constexpr std::size_t worth_keeping = 1 << 20; // a parser that grew beyond this is thrown away

// Counts what the parser would have to keep, before it allocates for it. Looks only at structure:
// a text that is not JSON gets some number, and its error from the parser.
bool has_more_values_than(std::string_view text, std::size_t limit) {
    std::size_t values = 1;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == ',' || c == '[' || c == '{') {
            if (++values > limit) return true;
        }
    }
    return false;
}

Error parse_error(simdjson::error_code code, const ParseLimits& limits) {
    using namespace simdjson;
    switch (code) {
    case DEPTH_ERROR:
        return {ErrorKind::limit,
                fmt::format("the message is nested deeper than {}", limits.depth)};
    case UTF8_ERROR: return {ErrorKind::parse, "the message is not valid UTF-8"};
    case STRING_ERROR:
        return {ErrorKind::parse, "a string has a bad escape or half a surrogate pair"};
    case NUMBER_ERROR: return {ErrorKind::parse, "a number is malformed or beyond 64 bits"};
    case UNCLOSED_STRING: return {ErrorKind::parse, "a string is not closed"};
    case UNESCAPED_CHARS:
        return {ErrorKind::parse, "a string holds an unescaped control character"};
    case EMPTY: return {ErrorKind::parse, "the message is empty"};
    case MEMALLOC: return {ErrorKind::limit, "not enough memory for this message"};
    default: return {ErrorKind::parse, "the message is not JSON"};
    }
}

} // namespace

struct Parser::State {
    simdjson::dom::parser parser;
    Value value;
};

Parser::Parser(ParseLimits limits) : limits_(limits) {}

Parser::~Parser() = default;

Result<const Value*> Parser::parse(std::string_view text) {
    const bool could_hold_too_many = text.size() / 2 > limits_.values;
    if (could_hold_too_many && has_more_values_than(text, limits_.values))
        return Error{ErrorKind::limit,
                     fmt::format("the message has more than {} values", limits_.values)};

    const bool has_grown = state_ && state_->parser.capacity() > worth_keeping;
    if (!state_ || (has_grown && text.size() <= worth_keeping)) {
        state_ = std::make_unique<State>();
    }
    if (state_->parser.capacity() < text.size()) {
        const std::size_t capacity = std::max(usual_capacity, text.size());
        if (const auto code = state_->parser.allocate(capacity, limits_.depth))
            return parse_error(code, limits_);
    }
    const auto parsed = state_->parser.parse(text.data(), text.size(), false);
    if (parsed.error() != simdjson::SUCCESS) return parse_error(parsed.error(), limits_);
    state_->value.element = parsed.value_unsafe();
    return static_cast<const Value*>(&state_->value);
}

} // namespace ew::json
