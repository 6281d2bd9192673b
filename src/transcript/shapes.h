// What the schema says about messages: which members are volatile, which optional.
#pragma once

#include "transcript/node.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace ew::transcript {

// A type is a part of the schema; a null type is one about which nothing is known.
class Shapes {
public:
    // The texts of schema/protocol.json and schema/types.json.
    static Result<Shapes> parse(std::string_view protocol_json, std::string_view types_json);

    // The type of a call or notification, and of the answer to a call.
    const Node* call(std::string_view method) const { return look_up(calls_, method); }

    const Node* reply(std::string_view method) const { return look_up(replies_, method); }

    const Node* member(const Node* type, std::string_view name) const;
    const Node* element(const Node* type) const;

    // A member that says nothing when a transcript does not mention it: volatile or optional.
    bool may_be_left_out(const Node* type, std::string_view name) const;

    static bool is_volatile(const Node* type);

private:
    using Types = std::map<std::string, Node, std::less<>>;

    Shapes() = default;

    static const Node* look_up(const Types& types, std::string_view method);
    Result<void> add(const Node& method);
    const Node* resolved(const Node* type) const;

    Node types_;
    Types calls_;
    Types replies_;
};

} // namespace ew::transcript
