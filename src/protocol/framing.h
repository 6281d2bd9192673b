// Bytes from the client to texts of messages: one a line, or behind Content-Length headers.
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
    std::string_view text = {};      // valid until the next call; empty if there is an error
    std::optional<Error> error = {}; // this message is lost, the next one may be fine
};

class Deframer {
public:
    static constexpr std::size_t longest_message = 64 << 20;
    static constexpr std::size_t longest_headers = 8 << 10;

    // Undecided: the first byte that is not blank decides, for good.
    explicit Deframer(Framing framing, std::size_t longest = longest_message)
        : framing_(framing), longest_(longest) {}

    // Where to read to; commit() what came.
    char* reserve(std::size_t count) { return buffer_.reserve(count); }

    void commit(std::size_t count) { buffer_.commit(count); }

    // The next message; absent: more bytes are needed. Blank lines are skipped.
    std::optional<Frame> next();

    // No more bytes will come: what is left counts as a last line.
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
    std::size_t taken_ = 0;    // bytes of the frame handed out last
    std::size_t searched_ = 0; // no line end before this
    bool skipping_line_ = false;
    std::uint64_t to_skip_ = 0;            // bytes of a body that is too long
    std::optional<std::size_t> body_ = {}; // headers read, this much text is to come
};

// What goes before a message of this many bytes, with Framing::headers.
void write_header(ByteBuffer& out, std::size_t message_size);

} // namespace ew::protocol
