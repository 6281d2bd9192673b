#include "mcp/request_state.h"

#include "core/sha256.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace ew::mcp {

namespace {

constexpr std::size_t block_size = 64; // of SHA-256

std::string padded(std::string key, char pad) {
    key.resize(block_size, '\0');
    for (char& byte : key)
        byte = static_cast<char>(byte ^ pad);
    return key;
}

// Takes the same time wherever the texts differ.
bool are_equal(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i] ^ b[i]));
    return difference == 0;
}

std::int64_t number_of(TimePoint time) {
    return std::chrono::duration_cast<Millis>(time.time_since_epoch()).count();
}

} // namespace

// HMAC (RFC 2104) with the digests in hexadecimal.
std::string StateSeal::mac(std::string_view body, std::string_view call) const {
    const std::string inner = core::sha256(fmt::format("{}{}\n{}", padded(key_, 0x36), body, call));
    return core::sha256(padded(key_, 0x5c) + inner);
}

std::string StateSeal::seal(std::string_view question, std::string_view call,
                            TimePoint until) const {
    const std::string body = fmt::format("{}.{}", number_of(until), question);
    return fmt::format("{}.{}", mac(body, call), body);
}

std::optional<std::string> StateSeal::open(std::string_view state, std::string_view call,
                                           TimePoint now) const {
    const std::size_t body_at = state.find('.');
    if (body_at == std::string_view::npos) return std::nullopt;
    const std::string_view body = state.substr(body_at + 1);
    if (!are_equal(state.substr(0, body_at), mac(body, call))) return std::nullopt;
    const std::size_t question_at = body.find('.');
    std::int64_t until = 0;
    const auto parsed = std::from_chars(body.data(), body.data() + question_at, until);
    if (parsed.ec != std::errc() || until <= number_of(now)) return std::nullopt;
    return std::string(body.substr(question_at + 1));
}

} // namespace ew::mcp
