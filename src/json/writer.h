// Writes structs as JSON at the end of a ByteBuffer. A struct lists its members once, in fields();
// FieldWriter is the visitor that turns the list into text.
#pragma once

#include "base/byte_buffer.h"
#include "json/types.h"

#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::json {

// Appends `text` as a JSON string with quotes. Escapes control characters; bytes that are not UTF-8
// become U+FFFD.
void write_string(ByteBuffer& out, std::string_view text);
void write_number(ByteBuffer& out, std::uint64_t number);
void write_number(ByteBuffer& out, std::int64_t number);
void write_base64(ByteBuffer& out, std::string_view bytes);
void write_file_uri(ByteBuffer& out, std::string_view path);

class FieldWriter;

inline void write_value(ByteBuffer& out, const std::string& text) {
    write_string(out, text);
}

inline void write_value(ByteBuffer& out, bool flag) {
    out.append(flag ? std::string_view("true") : std::string_view("false"));
}

template <std::unsigned_integral Number>
void write_value(ByteBuffer& out, Number number) {
    write_number(out, std::uint64_t{number});
}

template <std::signed_integral Number>
void write_value(ByteBuffer& out, Number number) {
    write_number(out, std::int64_t{number});
}

template <Named Enum>
void write_value(ByteBuffer& out, Enum value) {
    out.append('"');
    out.append(name_of(value));
    out.append('"');
}

inline void write_value(ByteBuffer& out, const Bytes& value) {
    write_base64(out, value.bytes);
}

inline void write_value(ByteBuffer& out, const FileUri& value) {
    write_file_uri(out, value.native);
}

inline void write_value(ByteBuffer& out, const Path& value) {
    write_file_uri(out, value.native);
}

inline void write_value(ByteBuffer& out, const Id& value) {
    out.append(value.json.empty() ? std::string_view("null") : std::string_view(value.json));
}

template <class T>
void write_value(ByteBuffer& out, const std::optional<T>& value);
template <class T>
void write_value(ByteBuffer& out, const std::vector<T>& values);
template <class T>
void write_value(ByteBuffer& out, const std::vector<std::pair<std::string, T>>& members);

template <class Struct>

requires requires(FieldWriter& visitor, Struct& value) {
    fields(visitor, value);
}

void write_value(ByteBuffer& out, const Struct& value);

class FieldWriter {
public:
    explicit FieldWriter(ByteBuffer& out) : out_(out) { out_.append('{'); }

    // A member that is always written. An empty optional is written as null.
    template <class T>
    void required(std::string_view name, const T& value, Bounds = {}) {
        begin(name);
        write_value(out_, value);
    }

    // A member that is omitted if it has its default value.
    template <class T>
    void optional(std::string_view name, const T& value, Bounds = {}) {
        if constexpr (requires { value == T{}; }) {
            if (value == T{}) return;
        }
        begin(name);
        write_value(out_, value);
    }

    template <class T>
    void optional(std::string_view name, const std::optional<T>& value, Bounds = {}) {
        if (value) required(name, *value);
    }

    void end() { out_.append('}'); }

private:
    void begin(std::string_view name) {
        constexpr std::size_t punctuation = 4;
        char* at = out_.reserve(name.size() + punctuation);
        char* const start = at;
        if (!first_) *at++ = ',';
        first_ = false;
        *at++ = '"';
        std::memcpy(at, name.data(), name.size());
        at += name.size();
        *at++ = '"';
        *at++ = ':';
        out_.commit(static_cast<std::size_t>(at - start));
    }

    ByteBuffer& out_;
    bool first_ = true;
};

template <class T>
void write_value(ByteBuffer& out, const std::optional<T>& value) {
    if (value)
        write_value(out, *value);
    else
        out.append(std::string_view("null"));
}

template <class T>
void write_value(ByteBuffer& out, const std::vector<T>& values) {
    out.append('[');
    for (const T& value : values) {
        if (&value != values.data()) out.append(',');
        write_value(out, value);
    }
    out.append(']');
}

template <class T>
void write_value(ByteBuffer& out, const std::vector<std::pair<std::string, T>>& members) {
    out.append('{');
    for (const auto& member : members) {
        if (&member != members.data()) out.append(',');
        write_string(out, member.first);
        out.append(':');
        write_value(out, member.second);
    }
    out.append('}');
}

template <class Struct>

requires requires(FieldWriter& visitor, Struct& value) {
    fields(visitor, value);
}

void write_value(ByteBuffer& out, const Struct& value) {
    FieldWriter writer(out);
    // fields() also serves the reader and takes a mutable struct; FieldWriter does not change it.
    fields(writer, const_cast<Struct&>(value));
    writer.end();
}

} // namespace ew::json
