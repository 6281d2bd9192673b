// TOML files as plain values with their positions, and a reader for tables that reports errors.
// Lines and columns count from 1; a column counts characters, not bytes.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ew::toml {

struct Position {
    std::uint32_t line = 0;
    std::uint32_t column = 0;

    bool operator==(const Position& other) const {
        return line == other.line && column == other.column;
    }

    bool operator<(const Position& other) const {
        return line != other.line ? line < other.line : column < other.column;
    }
};

struct Value;
struct Member;

// A date, a time or both, in the format of RFC 3339.
struct DateTime {
    std::string text;
};

struct Array {
    std::vector<Value> items;
};

struct Table {
    std::vector<Member> members; // in the order of the file
    Position position;           // of "[name]", "{", or of the first key of a dotted name

    const Member* find(std::string_view name) const;
};

struct Value {
    std::variant<std::string, std::int64_t, double, bool, DateTime, Array, Table> is;
    Position position;
};

struct Member {
    std::string name;
    Value value;
    Position position; // of the name
};

// An error in a file.
struct Problem {
    std::string file;
    Position position; // line 0: the whole file
    std::string message;

    bool operator==(const Problem& other) const {
        return file == other.file && position == other.position && message == other.message;
    }
};

// Returns "FILE:LINE:COL: message", or "FILE: message" if it is about the whole file.
std::string describe(const Problem& problem);

// Converts the problem to an Error of kind config_invalid.
Error as_error(const Problem& problem);

// The length of the longest accepted text. People write settings files by hand, so they are short.
constexpr std::size_t longest_text = 1 << 20;

// Parses text; `file` is only a name for messages. Returns nullopt and sets `problem` on an error.
std::optional<Table> parse(std::string_view text, std::string_view file, Problem& problem);

// The same, but returns the problem as "FILE:LINE:COL: message" in an Error of kind config_invalid.
Result<Table> parse(std::string_view text, std::string_view file);

// Returns "a string", "an integer", "a number", "true or false", "a date or time", "an array" or "a
// table".
std::string_view kind_of(const Value& value);

// Returns the candidate that was probably meant by `name`, or an empty text.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates);

// Reads a table key by key. An absent key returns nullopt without a problem. A value of the wrong
// kind returns nullopt and adds a problem. finish() reports the keys that were not read.
//
//     TableReader reader(table, "config.toml", problems);
//     config.login_shell = reader.boolean("login_shell").value_or(config.login_shell);
//     if (const Table* inner = reader.table("environment")) {
//         TableReader environment(*inner, "config.toml", problems, "environment");
//         ...
//         environment.finish();
//     }
//     reader.finish();
class TableReader {
public:
    // All parameters are borrowed and must outlive the reader. `parent` is the name of the table in
    // messages: key 'parent.x'.
    TableReader(const Table& table, std::string_view file, std::vector<Problem>& problems,
                std::string_view parent = {});

    std::optional<std::string> string(std::string_view name);
    std::optional<bool> boolean(std::string_view name);
    std::optional<double> number(std::string_view name); // accepts an integer too
    std::optional<std::int64_t> integer(std::string_view name);
    // A value outside of [least, most] is a problem, and returns nullopt.
    std::optional<std::int64_t> integer(std::string_view name, std::int64_t least,
                                        std::int64_t most);
    // A value that is not one of `choices` is a problem, and returns nullopt.
    std::optional<std::string> choice(std::string_view name,
                                      const std::vector<std::string_view>& choices);
    std::optional<std::vector<std::string>> strings(std::string_view name);
    const Table* table(std::string_view name);
    std::vector<const Table*> tables(std::string_view name); // for [[name]]; empty if absent
    const Value* value(std::string_view name);               // a value of any kind

    // Returns the place of the key's value. If the key is absent, returns the place of the table.
    Position position(std::string_view name) const;

    // Adds a problem at the key's value or at the table: "key 'name': what".
    void complain(std::string_view name, std::string_view what);
    void complain(Position position, std::string_view message);

    // Reports every key that was not read as a problem: unknown key 'y'; did you mean 'x'?
    void finish();

private:
    template <class T>
    const T* get(std::string_view name, std::string_view expected);
    std::string full_name(std::string_view name) const;

    const Table& table_;
    std::string_view file_;
    std::vector<Problem>& problems_;
    std::string_view parent_;
    std::vector<std::string_view> known_; // the names that were read
};

} // namespace ew::toml
