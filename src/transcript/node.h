// A JSON value that owns all its parts, for comparing messages long after they were read.
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
    std::string text;               // of a string its characters, of a number or boolean its JSON
    std::vector<std::string> names; // of the members of an object, in the order of the text
    std::vector<Node> items;        // the values of members, or the elements of an array
    bool is_open = false;           // there may be more: "...", or for text a member with *

    static Node of_text(std::string characters);

    bool operator==(const Node&) const = default;

    bool is_text() const { return kind == Kind::string; }

    // The first member of that name; null if there is none, or if this is no object.
    const Node* find(std::string_view name) const;
    Node* find(std::string_view name);

    // The same, through several objects.
    const Node* find(std::string_view outer, std::string_view inner) const;

    // The characters of a string member, or nothing.
    std::string_view text_of(std::string_view name) const;

    void add(std::string name, Node value);
    void remove(std::size_t index);
};

// Values deeper than 64 or numbering more than a message may hold are errors.
Result<Node> parse_node(std::string_view json);

// The same, without a copy: `json` must be followed by ByteBuffer::padding readable bytes.
Result<Node> parse_padded_node(std::string_view json);

void write_node(ByteBuffer& out, const Node& node);
std::string to_json(const Node& node);

bool is_utf8(std::string_view bytes);

} // namespace ew::transcript
