// Standard padded base64 (RFC 4648 section 4). The encoder uses AVX2 where the processor has it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ew::json {

constexpr std::size_t base64_size(std::size_t bytes) {
    return (bytes + 2) / 3 * 4;
}

// Writes base64_size(bytes.size()) characters to `out`. May write up to 4 more bytes behind them.
void encode_base64(std::string_view bytes, char* out);

// Strict: no white space, padding required, unused bits zero. Returns nullopt if `text` is not
// base64.
std::optional<std::string> decode_base64(std::string_view text);

} // namespace ew::json
