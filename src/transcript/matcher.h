// Compares expected messages with those of a server, and remembers the values of names.
#pragma once

#include "transcript/node.h"
#include "transcript/shapes.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ew::transcript {

// The directory of a run as a path and as a URI. Only these names may begin a longer string, such
// as "$dir/file".
constexpr std::string_view dir_name = "$dir";
constexpr std::string_view dir_uri_name = "$dirUri";

struct Difference {
    std::string path;     // for example "params.exitCode"
    std::string expected; // JSON, or a phrase
    std::string got;
};

class Matcher {
public:
    explicit Matcher(const Shapes& shapes) : shapes_(shapes) {}

    void bind(std::string name, Node value);

    // Returns nullopt if `actual` fits. `type` says which members need not be compared.
    std::optional<Difference> compare(const Node& expected, const Node& actual, const Node* type);

    // Returns a message of the client with its names replaced by their values. A name without a
    // value is plain text.
    Node expanded(const Node& message) const;

private:
    Node expanded_text(const Node& text) const;
    std::optional<Difference> compare_text(const Node& expected, const Node& actual);
    std::optional<Difference> compare_array(const Node& expected, const Node& actual,
                                            const Node* type);
    std::optional<Difference> compare_object(const Node& expected, const Node& actual,
                                             const Node* type);
    std::optional<Difference> compare_member(const std::string& name, const Node& expected,
                                             const Node& actual, const Node* type);
    std::optional<Difference> find_unexpected(const Node& expected, const Node& actual,
                                              const Node* type) const;
    const Node* value_of(std::string_view name) const;

    const Shapes& shapes_;
    std::map<std::string, Node, std::less<>> names_;
};

} // namespace ew::transcript
