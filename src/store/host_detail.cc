#include "store/host_detail.h"

#include "base/byte_buffer.h"
#include "json/parser.h"
#include "json/reader.h"
#include "json/writer.h"

#include <fmt/format.h>

namespace ew::store {

std::string to_detail(const HostDetail& detail) {
    ByteBuffer out;
    json::write_value(out, detail);
    return std::string(out.view());
}

std::optional<HostDetail> host_detail_of(std::string_view detail) {
    ByteBuffer padded; // simdjson needs the padding
    padded.append(detail);
    (void)padded.reserve(ByteBuffer::padding);
    json::Parser parser;
    Result<const json::Value*> parsed = parser.parse(padded.view());
    if (!parsed) return std::nullopt;
    HostDetail read;
    if (json::read_value((*parsed)->element, read, {})) return std::nullopt;
    return read;
}

std::string text_of_host_detail(const std::string& detail) {
    const std::optional<HostDetail> read = host_detail_of(detail);
    if (!read) return detail;
    return fmt::format("{} connections, {} bytes sent, {} received{}{}", read->connections,
                       read->sent, read->received, read->program.empty() ? "" : ", by ",
                       read->program);
}

} // namespace ew::store
