// Value types with their own form on the wire. The reader, the writer and the schema test share
// them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::json {

// Raw bytes, encoded as base64 on the wire.
struct Bytes {
    std::string bytes = {};
};

// An absolute native path. The reader accepts a file URI or an absolute path.
struct Path {
    std::string native = {};
};

// An absolute native path that is always a file URI on the wire.
struct FileUri {
    std::string native = {};
};

// A JSON object with string values, in the order of the message.
using StringMap = std::vector<std::pair<std::string, std::string>>;

// A JSON object with boolean values.
using FlagMap = std::vector<std::pair<std::string, bool>>;

// A JSON number or string that is echoed unchanged. Holds its JSON text; empty means null.
struct Id {
    std::string json = {};

    bool operator==(const Id&) const = default;
};

// Limits of a value. The schema states them too.
struct Bounds {
    std::uint64_t minimum = 0;
    std::uint64_t maximum = std::numeric_limits<std::uint64_t>::max();
};

// The wire names of an enum, in the order of its values. Specialised next to each enum.
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
