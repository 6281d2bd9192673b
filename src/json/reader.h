// Reads structs from parsed JSON. A struct lists its members once, in fields(); FieldReader is the
// visitor that fills them. Reading stops at the first invalid member, and the error names it.
#pragma once

#include "base/result.h"
#include "json/types.h"
#include "json/value.h"

#include <fmt/format.h>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::json {

using Element = simdjson::dom::element;

// Describes why a value is invalid, and the path of the invalid part below it ("" is the value
// itself).
struct Mismatch {
    std::string path = {};
    std::string expected = {};
};

// Returns the mismatch with its path relative to the container of `member`: "argv" and "[2]" make
// "argv[2]".
Mismatch below(std::string_view member, Mismatch mismatch);

std::optional<Mismatch> read_value(Element element, std::string& out, Bounds bounds);
std::optional<Mismatch> read_value(Element element, bool& out, Bounds bounds);
std::optional<Mismatch> read_value(Element element, std::uint64_t& out, Bounds bounds);
std::optional<Mismatch> read_value(Element element, std::int64_t& out, Bounds bounds);
std::optional<Mismatch> read_value(Element element, Bytes& out, Bounds bounds);
std::optional<Mismatch> read_value(Element element, Path& out, Bounds bounds);
std::optional<Mismatch> read_value(Element element, FileUri& out, Bounds bounds);
std::optional<Mismatch> read_value(Element element, Id& out, Bounds bounds);
std::optional<Mismatch> read_value(Element element, StringMap& out, Bounds bounds);
std::optional<Mismatch> read_name(Element element, std::size_t& index,
                                  const std::string_view* names, std::size_t count);

template <Named Enum>
std::optional<Mismatch> read_value(Element element, Enum& out, Bounds) {
    std::size_t index = 0;
    std::optional<Mismatch> wrong =
        read_name(element, index, Names<Enum>::list.data(), Names<Enum>::list.size());
    if (!wrong) out = static_cast<Enum>(index);
    return wrong;
}

template <class T>
std::optional<Mismatch> read_value(Element element, std::optional<T>& out, Bounds bounds) {
    if (element.is_null()) return {};
    return read_value(element, out.emplace(), bounds);
}

template <class T>
std::optional<Mismatch> read_value(Element element, std::vector<T>& out, Bounds bounds) {
    simdjson::dom::array array;
    if (element.get(array) != simdjson::SUCCESS) return Mismatch{"", "an array"};
    for (const Element item : array) {
        std::optional<Mismatch> wrong = read_value(item, out.emplace_back(), Bounds{});
        if (!wrong) continue;
        return below(fmt::format("[{}]", out.size() - 1), std::move(*wrong));
    }
    if (out.size() < bounds.minimum)
        return Mismatch{"", fmt::format("at least {} element(s)", bounds.minimum)};
    return {};
}

// Returns the mismatch of the first member that is not among the names. It says which name is the
// nearest.
std::optional<Mismatch> other_member(simdjson::dom::object object,
                                     const std::vector<std::string_view>& names);

// A struct with this constant is read only from objects with no other members than its own: a
// member that is ignored can be one that its author took for another.
template <class Struct>
concept RefusesOthers = requires {
    requires Struct::refuses_others;
};

// Collects the names of a struct's members.
class FieldNames {
public:
    template <class T>
    void required(std::string_view name, T&, Bounds = {}) {
        names_.push_back(name);
    }

    template <class T>
    void optional(std::string_view name, T&, Bounds = {}) {
        names_.push_back(name);
    }

    const std::vector<std::string_view>& all() const { return names_; }

private:
    std::vector<std::string_view> names_;
};

class FieldReader {
public:
    explicit FieldReader(simdjson::dom::object object) : object_(object) {}

    template <class T>
    void required(std::string_view name, T& out, Bounds bounds = {}) {
        read(name, out, bounds, true);
    }

    template <class T>
    void optional(std::string_view name, T& out, Bounds bounds = {}) {
        read(name, out, bounds, false);
    }

    // Reads from no object: every member is absent.
    FieldReader() = default;

    std::optional<Mismatch>& wrong() { return wrong_; }

private:
    template <class T>
    void read(std::string_view name, T& out, Bounds bounds, bool is_required) {
        if (wrong_) return;
        Element element;
        if (!object_ || object_->at_key(name).get(element) != simdjson::SUCCESS) {
            if (is_required) wrong_ = Mismatch{std::string(name), "to be present"};
            return;
        }
        wrong_ = read_value(element, out, bounds);
        if (!wrong_) return;
        wrong_ = below(name, std::move(*wrong_));
    }

    std::optional<simdjson::dom::object> object_;
    std::optional<Mismatch> wrong_;
};

// Reads the members that fields() lists; for functions that check more than that.
template <class Struct>
std::optional<Mismatch> read_members(Element element, Struct& out) {
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS) return Mismatch{"", "an object"};
    FieldReader reader(object);
    fields(reader, out);
    if constexpr (RefusesOthers<Struct>) {
        FieldNames names;
        fields(names, out);
        if (!reader.wrong()) return other_member(object, names.all());
    }
    return std::move(reader.wrong());
}

template <class Struct>

requires requires(FieldReader& visitor, Struct& value) {
    fields(visitor, value);
}

std::optional<Mismatch> read_value(Element element, Struct& out, Bounds) {
    return read_members(element, out);
}

} // namespace ew::json
