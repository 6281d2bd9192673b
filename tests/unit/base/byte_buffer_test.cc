#include "base/byte_buffer.h"
#include "support/random.h"
#include "support/testing.h"

#include <cstring>
#include <string>
#include <utility>

using ew::ByteBuffer;

namespace {

void fill(ByteBuffer& buffer, std::string_view bytes) {
    std::memcpy(buffer.reserve(bytes.size()), bytes.data(), bytes.size());
    buffer.commit(bytes.size());
}

} // namespace

TEST_SUITE_BEGIN("base/byte_buffer");

TEST_CASE("a new buffer is empty and owns no memory") {
    const ByteBuffer buffer;

    CHECK(buffer.empty());
    CHECK(buffer.view().data() == nullptr);
}

TEST_CASE("bytes come out at the front in the order they went in at the back") {
    ByteBuffer buffer;
    buffer.append("one ");
    fill(buffer, "two");
    buffer.append('!');

    buffer.consume(4);

    CHECK(buffer.view() == "two!");
}

TEST_CASE("reserved space that was not committed is not part of the buffer") {
    ByteBuffer buffer;
    buffer.append("kept");

    std::memcpy(buffer.reserve(5), "never", 5);

    CHECK(buffer.view() == "kept");
}

TEST_CASE("a parser may look beyond the last byte") {
    ByteBuffer buffer;
    buffer.append(std::string(4096, 'x')); // exactly the first capacity

    std::memset(buffer.data() + buffer.size(), 0,
                ByteBuffer::padding); // a sanitizer objects if not

    CHECK(buffer.size() == 4096);
}

TEST_CASE("the count of consumed bytes turns a place in the buffer into one in the stream") {
    ByteBuffer buffer;
    buffer.append("abcdef");

    buffer.consume(2);
    buffer.consume(4);
    CHECK(buffer.consumed() == 6);

    buffer.append("gh");
    buffer.release();
    CHECK(buffer.consumed() == 8);
}

TEST_CASE("release forgets the bytes and gives the memory back") {
    ByteBuffer buffer;
    buffer.append("abc");

    buffer.release();

    CHECK(buffer.empty());
    CHECK(buffer.view().data() == nullptr);
}

TEST_CASE("a large buffer gives its memory back once it is emptied, a small one keeps it") {
    ByteBuffer large;
    large.append(std::string(2 << 20, 'x'));
    ByteBuffer small;
    small.append("x");

    large.consume(large.size());
    small.consume(small.size());

    CHECK(large.view().data() == nullptr);
    CHECK(small.view().data() != nullptr);
}

TEST_CASE("a moved buffer takes bytes and count along") {
    ByteBuffer from;
    from.append("abc");
    from.consume(1);

    ByteBuffer constructed(std::move(from));
    CHECK(constructed.view() == "bc");
    CHECK(constructed.consumed() == 1);

    ByteBuffer assigned;
    assigned.append("old");
    assigned = std::move(constructed);
    CHECK(assigned.view() == "bc");
    CHECK(assigned.consumed() == 1);
}

TEST_CASE("any mixture of appending and consuming behaves like a string") {
    ew::test::Random random(1);
    ByteBuffer buffer;
    std::string model;

    for (int step = 0; step < 3000; ++step) {
        const std::string bytes = random.bytes(random.below(3000));
        buffer.append(bytes);
        model += bytes;
        const std::size_t consumed = random.below(model.size() + 1);
        buffer.consume(consumed);
        model.erase(0, consumed);

        REQUIRE(buffer.view() == model);
    }
}

TEST_SUITE_END();
