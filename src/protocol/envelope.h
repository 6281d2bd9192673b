// One JSON text to one message of JSON-RPC 2.0, and the envelopes of what we send.
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
    json::Id id = {};                    // of a request or response; empty: none that could be
    std::string_view method = {};        // lives as long as the parsed text
    const json::Value* params = nullptr; // absent and null are alike; of a response: its result
    bool is_error = false;               // of a response: `params` is the error
    Error error = {};                    // why a message is refused, under no id
};

// Reads messages. What a message points to lives until the next one is read.
class MessageReader {
public:
    MessageReader();
    ~MessageReader();
    MessageReader(const MessageReader&) = delete;
    MessageReader& operator=(const MessageReader&) = delete;

    // `text` must be followed by ByteBuffer::padding readable bytes.
    Message read(std::string_view text);

    // Gives back the memory that a large message took. What the last message points to dies.
    void trim() { parser_.trim(); }

private:
    struct Params;

    json::Parser parser_;
    std::unique_ptr<Params> params_;
};

// An error answer, whole. `id` without text is null.
void write_error(ByteBuffer& out, const json::Id& id, const Error& error);

} // namespace ew::protocol
