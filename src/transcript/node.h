// A JSON value that owns all its parts, so that messages can be compared long after they were read.
#pragma once

#include "base/byte_buffer.h"
#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ew::transcript {

struct Node {
    enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

    Kind kind = Kind::null;
    std::string text; // the characters of a string; the JSON text of a number or boolean
    std::vector<std::string> names; // the names of an object's members, in the order of the text
    std::vector<Node> items;        // the values of members, or the elements of an array
    bool is_open = false;           // it may have more parts: "...", or for text a member with *

    static Node of_text(std::string characters);

    bool operator==(const Node&) const = default;

    bool is_text() const { return kind == Kind::string; }

    // Returns the first member with this name. Returns null if there is none, or if this is not an
    // object.
    const Node* find(std::string_view name) const;
    Node* find(std::string_view name);

    // The same through nested objects.
    const Node* find(std::string_view outer, std::string_view inner) const;

    // Returns the characters of a string member, or an empty text.
    std::string_view text_of(std::string_view name) const;

    void add(std::string name, Node value);
    void remove(std::size_t index);
};

// Returns an error if values are nested deeper than 64, or exceed the number of values in a
// message.
Result<Node> parse_node(std::string_view json);

// The same, without a copy: `json` must be followed by ByteBuffer::padding readable bytes.
Result<Node> parse_padded_node(std::string_view json);

void write_node(ByteBuffer& out, const Node& node);
std::string to_json(const Node& node);

bool is_utf8(std::string_view bytes);

} // namespace ew::transcript
