// Bounded record of everything one process puts out, and of its end, in order. Consumers number
// what they take: an entry gets its final extent, and so the next its number, when someone cuts it.
// Nobody removes bytes. When the bound is reached the oldest delivered entries go, and are counted.
#pragma once

#include "base/clock.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

struct iovec;

namespace ew::core {

enum class Stream : std::uint8_t { out, err, pty };

struct OutputLimits {
    std::size_t retained_bytes = 1 << 20; // of output that stays readable
    std::size_t chunk_bytes = 64 << 10;   // the most that one entry holds
    std::size_t entries = 8192;           // the most that are indexed
    Millis utf8_hold{500};                // how long an unfinished character is held back
};

class OutputLog {
public:
    enum class Kind : std::uint8_t { out, err, pty, exited, closed };

    // One numbered event. The bytes lie in a ring, so they may come in two pieces.
    struct Entry {
        std::uint64_t seq = 0;
        Kind kind = Kind::out;
        std::size_t size = 0;
        std::array<std::string_view, 2> bytes = {};
    };

    // Where the next bytes of a stream may be read to.
    struct Space {
        std::array<char*, 2> at = {};
        std::array<std::size_t, 2> size = {};
    };

    explicit OutputLog(OutputLimits limits);
    ~OutputLog();
    OutputLog(const OutputLog&) = delete;
    OutputLog& operator=(const OutputLog&) = delete;

    // False while nothing may be read: what is kept has not been delivered yet, up to the bound.
    bool has_room() const;

    // Space for at most `wanted` bytes of `stream`. Use it, then commit() how many bytes came.
    Space space(Stream stream, std::size_t wanted);
    void commit(Stream stream, std::size_t count, TimePoint now);

    // The rest of a character will not come any more: lets go of what was held back.
    void flush(Stream stream);
    void flush_held_since(TimePoint now);
    std::optional<TimePoint> held_until() const;

    void append_exited();
    void append_closed();

    // Delivery to the client: the first entry that was not delivered, cut and numbered now.
    bool has_undelivered() const { return delivered_ < end_seq(); }

    Entry next_undelivered();

    void mark_delivered() { ++delivered_; }

    // Reading again: entries by number. cut_all() gives everything pending its final number.
    std::uint64_t first_seq() const { return first_seq_; }

    std::uint64_t next_seq() const { return first_seq_ + cut_; }

    void cut_one();
    void cut_all();

    bool has_uncut() const { return next_seq() < end_seq(); }

    std::uint64_t last_seq() const { return end_seq() - 1; } // uncut ones included

    std::uint64_t first_after(std::uint64_t seq) const; // the first entry kept behind `seq`
    bool has_output_after(std::uint64_t seq) const;
    Entry entry(std::uint64_t seq) const; // first_seq() <= seq < next_seq()

    // The bytes as one stream, in the order in which they came from all streams. What lies before
    // oldest() has been overwritten, whatever entries are kept.
    std::uint64_t end() const { return end_; }

    std::uint64_t oldest() const {
        return end_ > limits_.retained_bytes ? end_ - limits_.retained_bytes : 0;
    }

    // Appends the bytes of [begin, end) to `out`; oldest() <= begin <= end <= this->end().
    void copy(std::uint64_t begin, std::uint64_t end, std::string& out) const;

    // Bytes that were evicted, or discarded because their stream had been given up.
    std::uint64_t lost_bytes() const { return lost_bytes_; }

    void count_lost(std::uint64_t bytes) { lost_bytes_ += bytes; }

private:
    struct Record {
        std::uint64_t begin; // position in the stream of all bytes
        std::uint32_t size;
        Kind kind;
    };

    struct Held {
        std::array<char, 3> bytes = {};
        std::size_t size = 0;
        Stream stream = Stream::out;
        TimePoint since;
    };

    static std::size_t index_of(Stream stream) { return stream == Stream::err ? 1 : 0; }

    std::uint64_t end_seq() const { return first_seq_ + records_.size(); }

    std::size_t undelivered_bytes() const;
    void allocate();
    std::size_t unfinished_before(std::uint64_t end, std::size_t size) const;
    void put(std::uint64_t position, std::string_view bytes);
    void append(Stream stream, std::size_t size);
    void evict();

    OutputLimits limits_;
    std::array<Held, 2> held_;
    std::size_t capacity_;
    char* ring_ = nullptr; // mapped when the first byte comes
    std::deque<Record> records_;
    std::size_t cut_ = 0;         // records from the front that have their final number
    std::uint64_t first_seq_ = 1; // of records_.front()
    std::uint64_t delivered_ = 1; // the number of the next entry to deliver
    std::uint64_t end_ = 0;       // position after the last byte
    std::uint64_t delivered_end_ = 0;
    std::uint64_t lost_bytes_ = 0;
};

} // namespace ew::core
