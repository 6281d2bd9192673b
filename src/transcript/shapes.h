// The facts from the schema that the player needs: which members are volatile, and which are
// optional.
#pragma once

#include "transcript/node.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace ew::transcript {

// A type is a part of the schema. A null type means that nothing is known.
class Shapes {
public:
    // Parses the texts of schema/protocol.json and schema/types.json.
    static Result<Shapes> parse(std::string_view protocol_json, std::string_view types_json);

    // The type of a call or notification, and the type of the answer to a call.
    const Node* call(std::string_view method) const { return look_up(calls_, method); }

    const Node* reply(std::string_view method) const { return look_up(replies_, method); }

    const Node* member(const Node* type, std::string_view name) const;
    const Node* element(const Node* type) const;

    // Returns true if a transcript may omit this member, because it is volatile or optional.
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
