// Splits bytes from the client into texts of messages: one per line, or after Content-Length
// headers.
#pragma once

#include "base/byte_buffer.h"
#include "base/error.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ew::protocol {

enum class Framing : std::uint8_t { undecided, lines, headers };

struct Frame {
    std::string_view text = {};      // valid until the next call; empty on an error
    std::optional<Error> error = {}; // this message is lost; the next one may be valid
};

class Deframer {
public:
    static constexpr std::size_t longest_message = 64 << 20;
    static constexpr std::size_t longest_headers = 8 << 10;

    // Framing::undecided: the first byte that is not blank decides permanently.
    explicit Deframer(Framing framing, std::size_t longest = longest_message)
        : framing_(framing), longest_(longest) {}

    // Returns room for more bytes. Call commit() with the number of bytes read.
    char* reserve(std::size_t count) { return buffer_.reserve(count); }

    void commit(std::size_t count) { buffer_.commit(count); }

    // Returns the next message. Returns nullopt if more bytes are needed. Skips blank lines.
    std::optional<Frame> next();

    // Call this after the last byte: the rest counts as a last line.
    std::optional<Frame> last();

    Framing framing() const { return framing_; }

    std::size_t buffered() const { return buffer_.size(); }

private:
    std::optional<Frame> next_line();
    std::optional<Frame> next_after_headers();
    std::optional<Frame> take_headers();
    void decide();
    void drop_taken();
    bool is_skipping();

    Framing framing_;
    std::size_t longest_;
    ByteBuffer buffer_;
    std::size_t taken_ = 0;    // bytes of the last returned frame
    std::size_t searched_ = 0; // there is no line end before this offset
    bool skipping_line_ = false;
    std::uint64_t to_skip_ = 0;            // bytes left of a body that is too long
    std::optional<std::size_t> body_ = {}; // this many bytes of the body follow
};

// Writes the header of a message of this many bytes, for Framing::headers.
void write_header(ByteBuffer& out, std::size_t message_size);

} // namespace ew::protocol
