#include "transcript/node.h"

#include "base/check.h"
#include "json/parser.h"
#include "json/value.h"
#include "json/writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace ew::transcript {

namespace {

using simdjson::dom::element_type;

template <class T>
std::string json_of(simdjson::dom::element element) {
    T number = {};
    CHECK(element.get(number) == simdjson::SUCCESS);
    return fmt::format("{}", number);
}

Node node_from(simdjson::dom::element element);

Node node_from(simdjson::dom::object object) {
    Node node;
    node.kind = Node::Kind::object;
    for (const auto member : object)
        node.add(std::string(member.key), node_from(member.value));
    return node;
}

Node node_from(simdjson::dom::array array) {
    Node node;
    node.kind = Node::Kind::array;
    for (const auto element : array)
        node.items.push_back(node_from(element));
    return node;
}

Node scalar(Node::Kind kind, std::string text) {
    Node node;
    node.kind = kind;
    node.text = std::move(text);
    return node;
}

Node node_from(simdjson::dom::element element) {
    switch (element.type()) {
    case element_type::OBJECT:
        return node_from(simdjson::dom::object(element.get_object().value_unsafe()));
    case element_type::ARRAY:
        return node_from(simdjson::dom::array(element.get_array().value_unsafe()));
    case element_type::STRING:
        return Node::of_text(std::string(element.get_string().value_unsafe()));
    case element_type::BOOL: return scalar(Node::Kind::boolean, json_of<bool>(element));
    case element_type::INT64: return scalar(Node::Kind::number, json_of<std::int64_t>(element));
    case element_type::UINT64: return scalar(Node::Kind::number, json_of<std::uint64_t>(element));
    case element_type::DOUBLE: return scalar(Node::Kind::number, json_of<double>(element));
    case element_type::NULL_VALUE: return Node{};
    }
    return Node{};
}

} // namespace

Node Node::of_text(std::string characters) {
    return scalar(Kind::string, std::move(characters));
}

const Node* Node::find(std::string_view name) const {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? nullptr : &items[static_cast<std::size_t>(found - names.begin())];
}

Node* Node::find(std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? nullptr : &items[static_cast<std::size_t>(found - names.begin())];
}

const Node* Node::find(std::string_view outer, std::string_view inner) const {
    const Node* const node = find(outer);
    return node == nullptr ? nullptr : node->find(inner);
}

std::string_view Node::text_of(std::string_view name) const {
    const Node* const node = find(name);
    return node != nullptr && node->is_text() ? std::string_view(node->text) : std::string_view();
}

void Node::add(std::string name, Node value) {
    names.push_back(std::move(name));
    items.push_back(std::move(value));
}

void Node::remove(std::size_t index) {
    const auto offset = static_cast<std::ptrdiff_t>(index);
    names.erase(names.begin() + offset);
    items.erase(items.begin() + offset);
}

Result<Node> parse_padded_node(std::string_view json) {
    json::Parser parser;
    const json::Value* const value = TRY(parser.parse(json));
    return node_from(value->element);
}

Result<Node> parse_node(std::string_view json) {
    ByteBuffer padded;
    padded.append(json);
    return parse_padded_node(padded.view());
}

void write_node(ByteBuffer& out, const Node& node) {
    switch (node.kind) {
    case Node::Kind::null: return out.append(std::string_view("null"));
    case Node::Kind::boolean:
    case Node::Kind::number: return out.append(node.text);
    case Node::Kind::string: return json::write_string(out, node.text);
    case Node::Kind::array:
    case Node::Kind::object: break;
    }
    const bool is_object = node.kind == Node::Kind::object;
    out.append(is_object ? '{' : '[');
    for (std::size_t i = 0; i < node.items.size(); ++i) {
        if (i > 0) out.append(',');
        if (is_object) {
            const bool is_part = node.items[i].is_text() && node.items[i].is_open;
            json::write_string(out, node.names[i] + (is_part ? "*" : ""));
            out.append(':');
        }
        write_node(out, node.items[i]);
    }
    if (node.is_open) out.append(node.items.empty() ? std::string_view("...") : ",...");
    out.append(is_object ? '}' : ']');
}

std::string to_json(const Node& node) {
    ByteBuffer out;
    write_node(out, node);
    return std::string(out.view());
}

bool is_utf8(std::string_view bytes) {
    return simdjson::validate_utf8(bytes.data(), bytes.size());
}

} // namespace ew::transcript
