// Changes to a TOML text that a person edits too: only what has to change does, and every other
// byte stays. Pure. The result is parsed again and compared with what it shall say before it is
// given back.
#pragma once

#include "base/result.h"
#include "toml/toml.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::toml {

// "like this": a basic string, on one line.
std::string quoted(std::string_view text);

// A string, or an array of strings, as it is written on one line.
std::string written(const Value& value);

// Are they the same, wherever they stand?
bool is_equal(const Value& a, const Value& b);

class Edit {
public:
    // Errors: `text` is no TOML. Both are borrowed; `file` is a name for messages.
    static Result<Edit> open(const std::string& text, std::string_view file);

    const Table& document() const { return document_; } // as it was

    // Adds lines at the end, with the line ends of the text. Items of an array of tables, and
    // members of a table, that is there already are added to it.
    void append(std::string_view lines);

    // Sets a key at the top of the file. Errors: the value that it has cannot be replaced.
    Result<void> set(const Member& wanted);

    // Sets a key of a table in an array of tables. A key that is missing gets a line of its own
    // behind that of `neighbour`, which must be there. Errors: as above.
    Result<void> set(std::string_view array, std::size_t index, const Member& wanted,
                     std::string_view neighbour);

    // Cuts out a table that is a block [[array]] of its own, and the line above it if that begins
    // with `comment`. Returns false if it is no such block. Must be the only change.
    bool remove(std::string_view array, std::size_t index, std::string_view comment);

    // The changed text, or nullopt if it would say something else than it shall.
    std::optional<std::string> result() const;

private:
    // A replacement of bytes; an insertion if `size` is 0.
    struct Change {
        std::size_t at = 0;
        std::size_t size = 0;
        std::string text;
    };

    Edit(const std::string& text, std::string_view file, Table document);

    Result<void> replace(const Member& member, const Value& value);
    void insert_first(std::string_view line);
    void change(std::size_t at, std::size_t size, std::string_view lines);

    const std::string& text_;
    std::string_view file_;
    Table document_;
    Table wanted_;
    std::vector<Change> changes_;
};

} // namespace ew::toml
