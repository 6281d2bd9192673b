// Parses one JSON text as a message of JSON-RPC 2.0, and writes the envelopes of sent messages.
#pragma once

#include "base/byte_buffer.h"
#include "base/error.h"
#include "json/parser.h"
#include "json/types.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace ew::protocol {

struct Message {
    enum class Kind : std::uint8_t { request, notification, response, refused };

    Kind kind = Kind::refused;
    json::Id id = {};                    // of a request or response; empty if there is no valid one
    std::string_view method = {};        // valid as long as the parsed text
    const json::Value* params = nullptr; // null if absent or null; of a response: its result
    bool is_error = false;               // of a response: `params` holds the error
    Error error = {};                    // why a message without an id is refused
};

// Reads messages. The pointers in a message are valid until the next one is read.
class MessageReader {
public:
    MessageReader();
    ~MessageReader();
    MessageReader(const MessageReader&) = delete;
    MessageReader& operator=(const MessageReader&) = delete;

    // `text` must be followed by ByteBuffer::padding readable bytes.
    Message read(std::string_view text);

    // Frees the memory that a large message needed. Invalidates the last message.
    void trim() { parser_.trim(); }

private:
    struct Params;

    json::Parser parser_;
    std::unique_ptr<Params> params_;
};

// Writes a complete error answer. An empty `id` is written as null.
void write_error(ByteBuffer& out, const json::Id& id, const Error& error);

} // namespace ew::protocol
