#include "transcript/shapes.h"

#include <fmt/format.h>

#include <algorithm>

namespace ew::transcript {

namespace {

constexpr std::string_view any_method = ""; // the key for methods that the schema does not have

std::string reference(std::string_view type) {
    if (type.empty() || type == "null") return "{}";
    return fmt::format(R"({{"$ref":"#/$defs/{}"}})", type);
}

} // namespace

Result<Shapes> Shapes::parse(std::string_view protocol_json, std::string_view types_json) {
    Shapes shapes;
    shapes.types_ = TRY(parse_node(types_json));
    const Node protocol = TRY(parse_node(protocol_json));
    if (const Node* const methods = protocol.find("methods"))
        for (const Node& method : methods->items)
            TRY(shapes.add(method));
    TRY(shapes.add(Node{}));
    return shapes;
}

// The schema of a method does not include the envelope, so the type of the envelope is built here.
Result<void> Shapes::add(const Node& method) {
    const std::string name(method.text_of("name"));
    calls_[name] = TRY(parse_node(
        fmt::format(R"({{"required":["id","method","params"],"properties":{{)"
                    R"("jsonrpc":{{"x-volatile":true}},"id":{{}},"method":{{}},"params":{}}}}})",
                    reference(method.text_of("params")))));
    replies_[name] =
        TRY(parse_node(fmt::format(R"({{"required":["id","result","error"],"properties":{{)"
                                   R"("jsonrpc":{{"x-volatile":true}},"id":{{}},"result":{},)"
                                   R"("error":{{"$ref":"#/x-envelope/ErrorObject"}}}}}})",
                                   reference(method.text_of("result")))));
    return {};
}

const Node* Shapes::look_up(const Types& types, std::string_view method) {
    const auto found = types.find(method);
    return found != types.end() ? &found->second : &types.find(any_method)->second;
}

// Follows "$ref":"#/…", also in an "anyOf" with null.
const Node* Shapes::resolved(const Node* type) const {
    while (type != nullptr) {
        const Node* const choices = type->find("anyOf");
        std::string_view path = type->text_of("$ref");
        if (choices != nullptr && !choices->items.empty())
            path = choices->items.front().text_of("$ref");
        if (!path.starts_with("#/")) return type;
        path.remove_prefix(2);
        type = &types_;
        while (type != nullptr && !path.empty()) {
            const std::string_view step = path.substr(0, path.find('/'));
            path.remove_prefix(std::min(step.size() + 1, path.size()));
            type = type->find(step);
        }
    }
    return nullptr;
}

const Node* Shapes::member(const Node* type, std::string_view name) const {
    type = resolved(type);
    if (type == nullptr) return nullptr;
    if (const Node* const described = type->find("properties", name)) return described;
    return type->find("additionalProperties");
}

const Node* Shapes::element(const Node* type) const {
    type = resolved(type);
    return type == nullptr ? nullptr : type->find("items");
}

bool Shapes::may_be_left_out(const Node* type, std::string_view name) const {
    type = resolved(type);
    const Node* const described = type == nullptr ? nullptr : type->find("properties", name);
    if (described == nullptr) return false;
    if (is_volatile(described)) return true;
    const Node* const required = type->find("required");
    return required == nullptr ||
           std::none_of(required->items.begin(), required->items.end(),
                        [name](const Node& entry) { return entry.text == name; });
}

bool Shapes::is_volatile(const Node* type) {
    const Node* const mark = type == nullptr ? nullptr : type->find("x-volatile");
    return mark != nullptr && mark->text == "true";
}

} // namespace ew::transcript
