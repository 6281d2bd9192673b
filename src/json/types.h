// Value types that look special on the wire, shared by reader, writer and schema test.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::json {

// Raw bytes; base64 on the wire.
struct Bytes {
    std::string bytes = {};
};

// An absolute native path. Read from a file URI or an absolute path.
struct Path {
    std::string native = {};
};

// An absolute native path that is read and written as a file URI only.
struct FileUri {
    std::string native = {};
};

// A JSON object with string values, in the order of the message.
using StringMap = std::vector<std::pair<std::string, std::string>>;

// A JSON object with boolean values.
using FlagMap = std::vector<std::pair<std::string, bool>>;

// A JSON number or string that is echoed as it came: its JSON text, empty for null.
struct Id {
    std::string json = {};

    bool operator==(const Id&) const = default;
};

// Limits that the schema states too.
struct Bounds {
    std::uint64_t minimum = 0;
    std::uint64_t maximum = std::numeric_limits<std::uint64_t>::max();
};

// The wire names of an enum, in the order of its values. Specialised beside each enum.
template <class Enum>
struct Names;

template <class Enum>
concept Named = requires {
    Names<Enum>::list;
};

template <Named Enum>
constexpr std::string_view name_of(Enum value) {
    return Names<Enum>::list[static_cast<std::size_t>(value)];
}

} // namespace ew::json
