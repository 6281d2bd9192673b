#include "json/reader.h"

#include "base/byte_buffer.h"
#include "base/nearest.h"
#include "json/base64.h"
#include "json/file_uri.h"
#include "json/writer.h"

#include <algorithm>
#include <utility>

namespace ew::json {

using simdjson::SUCCESS;

Mismatch below(std::string_view member, Mismatch mismatch) {
    const bool is_joined = mismatch.path.empty() || mismatch.path.front() == '[';
    mismatch.path = fmt::format("{}{}{}", member, is_joined ? "" : ".", mismatch.path);
    return mismatch;
}

std::optional<Mismatch> other_member(simdjson::dom::object object,
                                     const std::vector<std::string_view>& names) {
    for (const auto& [name, value] : object) {
        if (std::ranges::find(names, name) != names.end()) continue;
        constexpr std::size_t longest = 64; // bytes; a longer name is no slip
        if (name.size() > longest || names.empty())
            return Mismatch{"", "none of the members that are there"};
        return Mismatch{std::string(name),
                        fmt::format("another name: there is no such member; the nearest is '{}'",
                                    nearest(name, names))};
    }
    return {};
}

std::optional<Mismatch> read_value(Element element, std::string& out, Bounds bounds) {
    std::string_view text;
    if (element.get(text) != SUCCESS) return Mismatch{"", "a string"};
    if (text.size() < bounds.minimum) return Mismatch{"", "a string that is not empty"};
    if (text.size() > bounds.maximum)
        return Mismatch{"", fmt::format("a string of at most {} bytes", bounds.maximum)};
    out = text;
    return {};
}

std::optional<Mismatch> read_value(Element element, bool& out, Bounds) {
    if (element.get(out) != SUCCESS) return Mismatch{"", "true or false"};
    return {};
}

std::optional<Mismatch> read_value(Element element, std::uint64_t& out, Bounds bounds) {
    if (element.get(out) == SUCCESS && out >= bounds.minimum && out <= bounds.maximum) return {};
    if (bounds.maximum == Bounds{}.maximum)
        return Mismatch{"", fmt::format("a whole number of at least {}", bounds.minimum)};
    return Mismatch{"",
                    fmt::format("a whole number from {} to {}", bounds.minimum, bounds.maximum)};
}

std::optional<Mismatch> read_value(Element element, std::int64_t& out, Bounds) {
    if (element.get(out) != SUCCESS) return Mismatch{"", "a whole number"};
    return {};
}

std::optional<Mismatch> read_value(Element element, Bytes& out, Bounds) {
    std::string_view text;
    if (element.get(text) != SUCCESS) return Mismatch{"", "base64 text"};
    std::optional<std::string> bytes = decode_base64(text);
    if (!bytes) return Mismatch{"", "standard base64 with padding"};
    out.bytes = std::move(*bytes);
    return {};
}

std::optional<Mismatch> read_value(Element element, Path& out, Bounds) {
    std::string_view text;
    if (element.get(text) != SUCCESS) return Mismatch{"", "a file URI or an absolute path"};
    std::optional<std::string> path = path_from_text(text);
    if (!path) return Mismatch{"", "a file URI of this host or an absolute path"};
    out.native = std::move(*path);
    return {};
}

std::optional<Mismatch> read_value(Element element, FileUri& out, Bounds) {
    std::string_view text;
    if (element.get(text) != SUCCESS || text.starts_with('/')) return Mismatch{"", "a file URI"};
    std::optional<std::string> path = path_from_text(text);
    if (!path) return Mismatch{"", "a file URI of this host"};
    out.native = std::move(*path);
    return {};
}

std::optional<Mismatch> read_value(Element element, Id& out, Bounds) {
    std::string_view text;
    std::int64_t number = 0;
    ByteBuffer json;
    if (element.get(text) == SUCCESS)
        write_string(json, text);
    else if (element.is<std::int64_t>() && element.get(number) == SUCCESS)
        write_number(json, number);
    else
        return Mismatch{"", "a string or a whole number of 64 bits"};
    out.json = json.view();
    return {};
}

std::optional<Mismatch> read_value(Element element, StringMap& out, Bounds) {
    simdjson::dom::object object;
    if (element.get(object) != SUCCESS) return Mismatch{"", "an object of strings"};
    for (const auto member : object) {
        std::string_view text;
        if (member.value.get(text) != SUCCESS) return Mismatch{std::string(member.key), "a string"};
        out.emplace_back(std::string(member.key), std::string(text));
    }
    return {};
}

std::optional<Mismatch> read_name(Element element, std::size_t& index,
                                  const std::string_view* names, std::size_t count) {
    std::string_view text;
    if (element.get(text) == SUCCESS) {
        for (index = 0; index < count; ++index)
            if (names[index] == text) return {};
    }
    std::string list;
    for (std::size_t i = 0; i < count; ++i)
        list += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
    return Mismatch{"", "one of " + list};
}

} // namespace ew::json
