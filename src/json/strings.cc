#include "json/strings.h"

#include "base/byte_buffer.h"
#include "json/parser.h"
#include "json/reader.h"
#include "json/writer.h"

namespace ew::json {

std::string strings_to_json(const std::vector<std::string>& strings) {
    ByteBuffer out;
    write_value(out, strings);
    return std::string(out.view());
}

std::optional<std::vector<std::string>> strings_from_json(std::string_view text) {
    ByteBuffer padded; // simdjson needs the padding
    padded.append(text);
    (void)padded.reserve(ByteBuffer::padding);
    Parser parser;
    Result<const Value*> parsed = parser.parse(padded.view());
    if (!parsed) return std::nullopt;
    std::vector<std::string> strings;
    if (read_value((*parsed)->element, strings, {})) return std::nullopt;
    return strings;
}

} // namespace ew::json
