#include "transcript/matcher.h"

#include "transcript/format.h"

#include <fmt/format.h>

#include <algorithm>

namespace ew::transcript {

namespace {

Difference differs(const Node& expected, const Node& actual) {
    return {"", to_json(expected), to_json(actual)};
}

Difference below(std::string_view step, Difference difference) {
    const bool has_no_dot = difference.path.empty() || difference.path.front() == '[';
    difference.path = fmt::format("{}{}{}", step, has_no_dot ? "" : ".", difference.path);
    return difference;
}

} // namespace

void Matcher::bind(std::string name, Node value) {
    names_.insert_or_assign(std::move(name), std::move(value));
}

const Node* Matcher::value_of(std::string_view name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : &found->second;
}

Node Matcher::expanded(const Node& message) const {
    if (message.is_text()) return expanded_text(message);
    Node copy = message;
    for (Node& item : copy.items)
        item = expanded(item);
    return copy;
}

Node Matcher::expanded_text(const Node& text) const {
    if (const Node* const value = value_of(text.text)) return *value;
    for (const std::string_view name : {dir_name, dir_uri_name}) {
        const Node* const value = value_of(name);
        const std::string_view rest =
            std::string_view(text.text).substr(std::min(name.size(), text.text.size()));
        if (value != nullptr && text.text.starts_with(name) && rest.starts_with('/'))
            return Node::of_text(value->text + std::string(rest));
    }
    return text;
}

std::optional<Difference> Matcher::compare(const Node& expected, const Node& actual,
                                           const Node* type) {
    if (expected.is_text()) return compare_text(expected, actual);
    if (expected.kind != actual.kind) return differs(expected, actual);
    if (expected.kind == Node::Kind::array) return compare_array(expected, actual, type);
    if (expected.kind == Node::Kind::object) return compare_object(expected, actual, type);
    if (expected.text != actual.text) return differs(expected, actual);
    return {};
}

std::optional<Difference> Matcher::compare_text(const Node& expected, const Node& actual) {
    if (is_name(expected.text) && !expected.is_open && value_of(expected.text) == nullptr) {
        bind(expected.text, actual);
        return {};
    }
    const Node wanted = expanded(expected);
    if (!expected.is_open)
        return wanted == actual ? std::optional<Difference>() : differs(wanted, actual);
    const bool is_found =
        wanted.is_text() && actual.is_text() && actual.text.find(wanted.text) != std::string::npos;
    if (is_found) return {};
    return Difference{"", "text with " + to_json(wanted), to_json(actual)};
}

std::optional<Difference> Matcher::compare_array(const Node& expected, const Node& actual,
                                                 const Node* type) {
    const Node* const element = shapes_.element(type);
    for (std::size_t i = 0; i < expected.items.size(); ++i) {
        const std::string step = fmt::format("[{}]", i);
        if (i >= actual.items.size())
            return Difference{step, to_json(expected.items[i]), "the end of the array"};
        if (std::optional<Difference> found = compare(expected.items[i], actual.items[i], element))
            return below(step, std::move(*found));
    }
    const std::size_t size = expected.items.size();
    if (expected.is_open || actual.items.size() == size) return {};
    return Difference{fmt::format("[{}]", size), "the end of the array",
                      to_json(actual.items[size])};
}

std::optional<Difference> Matcher::compare_object(const Node& expected, const Node& actual,
                                                  const Node* type) {
    for (std::size_t i = 0; i < expected.names.size(); ++i)
        if (std::optional<Difference> found =
                compare_member(expected.names[i], expected.items[i], actual, type))
            return found;
    return expected.is_open ? std::optional<Difference>() : find_unexpected(expected, actual, type);
}

std::optional<Difference> Matcher::compare_member(const std::string& name, const Node& expected,
                                                  const Node& actual, const Node* type) {
    const Node* const value = actual.find(name);
    const Node* const member = shapes_.member(type, name);
    // A name or a partial text shows that the transcript expects this member.
    const bool is_wanted = expected.is_text() && (is_name(expected.text) || expected.is_open);
    if (Shapes::is_volatile(member) && !is_wanted) return {};
    if (value == nullptr) return Difference{name, to_json(expected), "no such member"};
    if (std::optional<Difference> found = compare(expected, *value, member))
        return below(name, std::move(*found));
    return {};
}

std::optional<Difference> Matcher::find_unexpected(const Node& expected, const Node& actual,
                                                   const Node* type) const {
    for (std::size_t i = 0; i < actual.names.size(); ++i) {
        const std::string& name = actual.names[i];
        if (expected.find(name) != nullptr || shapes_.may_be_left_out(type, name)) continue;
        return Difference{name, "no such member", to_json(actual.items[i])};
    }
    return {};
}

} // namespace ew::transcript
