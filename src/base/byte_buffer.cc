#include "base/byte_buffer.h"

#include "base/check.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace ew {

namespace {

constexpr std::size_t first_capacity = 4096;
constexpr std::size_t worth_keeping = 1 << 20; // an empty buffer larger than this frees its memory

} // namespace

ByteBuffer::ByteBuffer(ByteBuffer&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      begin_(std::exchange(other.begin_, 0)),
      end_(std::exchange(other.end_, 0)),
      capacity_(std::exchange(other.capacity_, 0)),
      consumed_(std::exchange(other.consumed_, 0)) {}

ByteBuffer& ByteBuffer::operator=(ByteBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(begin_, other.begin_);
    std::swap(end_, other.end_);
    std::swap(capacity_, other.capacity_);
    std::swap(consumed_, other.consumed_);
    return *this;
}

ByteBuffer::~ByteBuffer() {
    std::free(memory_);
}

void ByteBuffer::consume(std::size_t count) {
    CHECK(count <= size());
    begin_ += count;
    consumed_ += count;
    if (begin_ != end_) return;
    begin_ = end_ = 0;
    if (capacity_ > worth_keeping) release();
}

void ByteBuffer::release() {
    consumed_ += size();
    std::free(memory_);
    memory_ = nullptr;
    begin_ = end_ = capacity_ = 0;
}

void ByteBuffer::make_room(std::size_t count) {
    const bool moving_is_cheap = begin_ >= size();
    if (moving_is_cheap && capacity_ - size() >= count) {
        std::memmove(memory_, memory_ + begin_, size());
    } else {
        const std::size_t wanted = std::max({first_capacity, capacity_ * 2, end_ + count});
        // For large blocks realloc moves pages (mremap(2)) and does not copy the bytes.
        void* grown = std::realloc(memory_, wanted + padding);
        CHECK(grown != nullptr);
        memory_ = static_cast<char*>(grown);
        capacity_ = wanted;
        return;
    }
    end_ = size();
    begin_ = 0;
}

} // namespace ew
