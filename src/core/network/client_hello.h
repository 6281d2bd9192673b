// The first message of a TLS client (RFC 8446, RFC 6066), as far as it says which server it wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ew::core {

struct ClientHello {
    enum class State : std::uint8_t {
        incomplete, // it may be one: more bytes are needed
        other,      // the bytes are no TLS
        whole,      // the message has been read
        broken,     // it begins like one, and is none
    };

    State state = State::incomplete;
    std::string server_name = {}; // as sent; empty: the message has none
};

// A longer message counts as broken.
constexpr std::size_t longest_client_hello = 64 << 10;

// Reads the bytes that a connection begins with. The message may be cut into records anywhere.
ClientHello read_client_hello(std::string_view bytes);

} // namespace ew::core
