// A byte queue: bytes are appended at the back and consumed at the front. It grows without
// zero-filling. A few bytes behind the end are readable, so that a parser may read past the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ew {

class ByteBuffer {
public:
    // The number of readable bytes behind the last byte. simdjson needs them (SIMDJSON_PADDING).
    static constexpr std::size_t padding = 64;

    ByteBuffer() = default;
    ByteBuffer(ByteBuffer&& other) noexcept;
    ByteBuffer& operator=(ByteBuffer&& other) noexcept;
    ByteBuffer(const ByteBuffer&) = delete;
    ByteBuffer& operator=(const ByteBuffer&) = delete;
    ~ByteBuffer();

    std::size_t size() const { return end_ - begin_; }

    bool empty() const { return begin_ == end_; }

    char* data() { return memory_ + begin_; }

    std::string_view view() const { return {memory_ + begin_, size()}; }

    // Returns room for `count` more bytes at the back, valid until the next call. Call commit()
    // with the number of bytes used.
    char* reserve(std::size_t count) {
        if (capacity_ - end_ < count) make_room(count);
        return memory_ + end_;
    }

    void commit(std::size_t count) { end_ += count; }

    // Inline, because most appended texts are literals: the compiler then copies them without a
    // call.
    void append(std::string_view bytes) {
        if (bytes.empty()) return;
        std::memcpy(reserve(bytes.size()), bytes.data(), bytes.size());
        commit(bytes.size());
    }

    void append(char byte) {
        *reserve(1) = byte;
        commit(1);
    }

    void consume(std::size_t count);

    // The number of bytes consumed since the start. It turns an offset in the buffer into an offset
    // in the stream.
    std::uint64_t consumed() const { return consumed_; }

    // Discards all bytes and frees the memory.
    void release();

private:
    void make_room(std::size_t count);

    char* memory_ = nullptr;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::size_t capacity_ = 0; // without the padding
    std::uint64_t consumed_ = 0;
};

} // namespace ew
