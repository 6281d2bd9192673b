// Pieces of a script for the loose reader, and where they end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ew::core {

// NAME=…, NAME+=…, NAME[…]=…
bool is_assignment(std::string_view word);

// Returns the text between the bracket at `at` and the matching one, and moves `at` behind that.
// Ignores brackets in quotes. Without `has_single_quotes`, as in double quotes, a single quote is
// text. Without a matching bracket, returns the rest.
std::string_view enclosed_text(std::string_view text, std::size_t& at, char open, char close,
                               bool has_single_quotes = true);

// Is what follows `before` in (( )) or in a subscript, where << is a shift?
bool is_in_arithmetic(std::string_view before);

struct HereDocument {
    std::string end;         // the line that ends it
    bool is_literal = false; // nothing in it is expanded
    bool strips_tabs = false;
};

// Reads the operator at `at` and the delimiter, and moves `at` behind them.
HereDocument begin_here_document(std::string_view text, std::size_t& at);

struct HereText {
    std::string text;
    bool is_certain = true; // false: it is not known where the script goes on
};

// Reads the text of a document from `at` on, where a line begins, and moves `at` behind it.
// `is_inside`: a parenthesis may end the script.
HereText read_here_document(std::string_view text, std::size_t& at, const HereDocument& document,
                            bool is_inside);

} // namespace ew::core
