// The wire format of a struct, taken from its fields(): the third visitor beside FieldReader and
// FieldWriter. Used only to compare with schema/types.json.
#pragma once

#include "json/types.h"
#include "json/writer.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::test {

struct Member;

// The type of a value. `name` is a plain JSON type, or that of a struct or special value.
struct Shape {
    std::string name = {};
    std::vector<std::string> choices = {}; // of an enum
    std::vector<Shape> element = {};       // of an array or a map: exactly one
    bool has_value_or_none = false;        // std::optional
};

struct Member {
    std::string name = {};
    Shape shape = {};
    bool is_required = false;
    std::string default_json = {};
    json::Bounds bounds = {};
};

// The user specializes this for each struct: C++ cannot name a type.
template <class Struct>
struct StructName;

inline Shape shape_of(const std::string&) {
    return {"string"};
}

inline Shape shape_of(bool) {
    return {"boolean"};
}

inline Shape shape_of(std::uint64_t) {
    return {"integer"};
}

inline Shape shape_of(std::int64_t) {
    return {"integer"};
}

inline Shape shape_of(const json::Bytes&) {
    return {"Base64"};
}

inline Shape shape_of(const json::Path&) {
    return {"Path"};
}

inline Shape shape_of(const json::FileUri&) {
    return {"FileUri"};
}

inline Shape shape_of(const json::Id&) {
    return {"RequestId"};
}

inline Shape shape_of(const json::StringMap&) {
    return {"map", {}, {{"string"}}};
}

inline Shape shape_of(const json::FlagMap&) {
    return {"map", {}, {{"boolean"}}};
}

template <json::Named Enum>
Shape shape_of(const Enum&) {
    return {"string", {json::Names<Enum>::list.begin(), json::Names<Enum>::list.end()}};
}

template <class Struct>
requires requires {
    StructName<Struct>::value;
}

Shape shape_of(const Struct&) {
    return {StructName<Struct>::value};
}

template <class T>
Shape shape_of(const std::vector<T>&) {
    return {"array", {}, {shape_of(T{})}};
}

template <class T>
Shape shape_of(const std::optional<T>&) {
    Shape shape = shape_of(T{});
    shape.has_value_or_none = true;
    return shape;
}

class ShapeRecorder {
public:
    template <class T>
    void required(std::string_view name, const T& value, json::Bounds bounds = {}) {
        members_.push_back({std::string(name), shape_of(value), true, "", bounds});
    }

    template <class T>
    void optional(std::string_view name, const T& value, json::Bounds bounds = {}) {
        ByteBuffer default_json;
        if (!shape_of(value).has_value_or_none) write_default(default_json, value);
        members_.push_back(
            {std::string(name), shape_of(value), false, std::string(default_json.view()), bounds});
    }

    const std::vector<Member>& members() const { return members_; }

private:
    template <class T>
    static void write_default(ByteBuffer& out, const T& value) {
        json::write_value(out, value);
    }

    template <class T>
    static void write_default(ByteBuffer&, const std::optional<T>&) {}

    std::vector<Member> members_;
};

template <class Struct>
std::vector<Member> members_of() {
    Struct value;
    ShapeRecorder recorder;
    fields(recorder, value);
    return recorder.members();
}

} // namespace ew::test
