#include "json/parser.h"

#include "base/byte_buffer.h"
#include "json/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace ew::json {

namespace {

constexpr std::size_t usual_capacity = 64 << 10;
constexpr std::size_t worth_keeping = 1 << 20; // a parser larger than this is freed

// Returns the position of the quote that ends the string that begins at `begin`.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
    for (std::size_t end = begin;;) {
        end = text.find('"', end + 1);
        if (end == std::string_view::npos) return text.size();
        std::size_t backslashes = 0;
        while (text[end - 1 - backslashes] == '\\')
            ++backslashes;
        if (backslashes % 2 == 0) return end;
    }
}

// Counts values and levels before the parser allocates memory for them. It looks only at the
// structure: for a text that is not JSON the result is arbitrary, and the parser reports the error.
std::optional<Error> excess(std::string_view text, const ParseLimits& limits) {
    std::size_t values = 1;
    std::size_t depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') i = end_of_string(text, i);
        if (c == ']' || c == '}') depth -= depth > 0 ? 1 : 0;
        if (c != ',' && c != '[' && c != '{') continue;
        const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
        const bool is_empty = next < text.size() && (text[next] == ']' || text[next] == '}');
        if (!is_empty) ++values;
        if (c != ',') ++depth;
        if (values > limits.values)
            return Error{ErrorKind::limit,
                         fmt::format("the message has more than {} values", limits.values)};
        if (depth > limits.depth)
            return Error{ErrorKind::limit,
                         fmt::format("the message is nested deeper than {}", limits.depth)};
    }
    return std::nullopt;
}

// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? (RFC 8259, section 6)
bool is_well_formed_number(std::string_view text) {
    const auto skip_digits = [&] {
        const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
        text.remove_prefix(count);
        return count > 0;
    };
    const auto skip_one_of = [&](std::string_view characters) {
        const bool is_there =
            !text.empty() && characters.find(text.front()) != std::string_view::npos;
        text.remove_prefix(is_there ? 1 : 0);
        return is_there;
    };
    (void)skip_one_of("-");
    if (!skip_one_of("0") && !skip_digits()) return false;
    if (skip_one_of(".") && !skip_digits()) return false;
    if (!skip_one_of("eE")) return text.empty();
    (void)skip_one_of("+-");
    return skip_digits() && text.empty();
}

// Requires that a character which is no part of the number follows it.
bool fits(std::string_view number) {
    if (number.find_first_of(".eE") != std::string_view::npos)
        return !std::isinf(std::strtod(number.data(), nullptr));
    const char* const end = number.data() + number.size();
    std::int64_t negative = 0;
    std::uint64_t positive = 0;
    return std::from_chars(number.data(), end, negative).ec == std::errc() ||
           std::from_chars(number.data(), end, positive).ec == std::errc();
}

// Shorter than every number that does not fit.
constexpr std::string_view large_fraction = "9e99";

// Replaces the numbers that do not fit into 64 bits with large_fraction and blanks. Returns false
// if a number is malformed: simdjson reports both with the same error code.
bool replace_large_numbers(std::string& text) {
    constexpr std::string_view of_numbers = "+-.0123456789eE";
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') i = end_of_string(text, i);
        if (c != '-' && (c < '0' || c > '9')) continue;
        const std::size_t end = std::min(text.find_first_not_of(of_numbers, i), text.size());
        const std::string_view number = std::string_view(text).substr(i, end - i);
        if (!is_well_formed_number(number)) return false;
        if (!fits(number)) {
            const std::size_t size = number.size();
            text.replace(i, size, large_fraction);
            text.insert(i + large_fraction.size(), size - large_fraction.size(), ' ');
        }
        i = end - 1;
    }
    return true;
}

Error parse_error(simdjson::error_code code) {
    using namespace simdjson;
    switch (code) {
    case UTF8_ERROR: return {ErrorKind::parse, "the message is not valid UTF-8"};
    case STRING_ERROR:
        return {ErrorKind::parse, "a string has a bad escape or half a surrogate pair"};
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
    std::string replaced; // of a text with numbers that do not fit

    simdjson::error_code parse(std::string_view text) {
        return parser.parse(text.data(), text.size(), false).get(value.element);
    }
};

Parser::Parser(ParseLimits limits) : limits_(limits) {}

Parser::~Parser() = default;

void Parser::trim() {
    if (!state_) return;
    if (state_->parser.capacity() > worth_keeping || !state_->replaced.empty()) state_.reset();
}

Result<const Value*> Parser::parse(std::string_view text) {
    // Each value and each level takes at least two characters.
    const bool could_be_too_much = text.size() / 2 + 1 > std::min(limits_.values, limits_.depth);
    if (could_be_too_much)
        if (std::optional<Error> error = excess(text, limits_)) return std::move(*error);

    if (!state_) state_ = std::make_unique<State>();
    if (state_->parser.capacity() < text.size()) {
        const std::size_t capacity = std::max(usual_capacity, text.size());
        if (const auto code = state_->parser.allocate(capacity, limits_.depth + 2))
            return parse_error(code);
    }
    simdjson::error_code code = state_->parse(text);
    if (code == simdjson::NUMBER_ERROR) {
        std::string& replaced = state_->replaced;
        replaced.assign(text);
        if (!replace_large_numbers(replaced))
            return Error{ErrorKind::parse, "a number is malformed"};
        replaced.append(ByteBuffer::padding, ' ');
        code = state_->parse(std::string_view(replaced).substr(0, text.size()));
    }
    if (code != simdjson::SUCCESS) return parse_error(code);
    return static_cast<const Value*>(&state_->value);
}

} // namespace ew::json
