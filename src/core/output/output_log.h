// A bounded record of all output of one process and of its end, in order. An entry gets its final
// extent and its number when it is cut, that is when a reader takes it. Readers do not remove
// bytes. When the limit is reached, the oldest delivered entries are dropped and counted.
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
    std::size_t retained_bytes = 1 << 20; // bytes of output that stay readable
    std::size_t chunk_bytes = 64 << 10;   // the maximum size of an entry
    std::size_t entries = 8192;           // the maximum number of indexed entries
    Millis utf8_hold{500};                // how long an incomplete character is held back
};

class OutputLog {
public:
    enum class Kind : std::uint8_t { out, err, pty, exited, closed };

    // One numbered event. Its bytes are in a ring buffer, so there may be two pieces.
    struct Entry {
        std::uint64_t seq = 0;
        Kind kind = Kind::out;
        std::size_t size = 0;
        std::array<std::string_view, 2> bytes = {};
    };

    // The space for the next bytes of a stream.
    struct Space {
        std::array<char*, 2> at = {};
        std::array<std::size_t, 2> size = {};
    };

    explicit OutputLog(OutputLimits limits);
    ~OutputLog();
    OutputLog(const OutputLog&) = delete;
    OutputLog& operator=(const OutputLog&) = delete;

    // Returns false if nothing may be read now, because the retained output is at the limit and not
    // delivered yet.
    bool has_room() const;

    // Returns false if the machine had no memory for the log. Then nothing may be added to it.
    bool has_memory() const { return ring_ != nullptr; }

    // Returns space for at most `wanted` bytes of `stream`. Fill it, then call commit() with the
    // number of bytes.
    Space space(Stream stream, std::size_t wanted);
    void commit(Stream stream, std::size_t count, TimePoint now);

    // Releases the bytes held back, because the rest of the character will not come. A terminal and
    // stdout hold their bytes in the same place: a process has only one of them.
    void flush(Stream stream);

    // Returns true if bytes of the stream were held back for the whole hold time.
    bool holds_too_long(Stream stream, TimePoint now) const;

    // The rest of the character may wait to be read: the hold time begins again at `when`.
    void hold_again(Stream stream, TimePoint when) { held_[index_of(stream)].since = when; }

    std::optional<TimePoint> held_until() const;

    void append_exited();
    void append_closed();

    // Delivery to the client: returns the first undelivered entry, and cuts and numbers it now.
    bool has_undelivered() const { return delivered_ < end_seq(); }

    Entry next_undelivered();

    void mark_delivered() { ++delivered_; }

    // Access to entries by number. cut_all() gives all pending entries their final numbers.
    std::uint64_t first_seq() const { return first_seq_; }

    std::uint64_t next_seq() const { return first_seq_ + cut_; }

    void cut_one();
    void cut_all();

    bool has_uncut() const { return next_seq() < end_seq(); }

    std::uint64_t last_seq() const { return end_seq() - 1; } // includes uncut entries

    std::uint64_t first_after(std::uint64_t seq) const; // the first retained entry after `seq`
    bool has_output_after(std::uint64_t seq) const;
    Entry entry(std::uint64_t seq) const; // first_seq() <= seq < next_seq()

    // Returns the position behind the bytes of an entry, or nullopt if there is no such entry now.
    std::optional<std::uint64_t> end_of(std::uint64_t seq) const;

    // The bytes of all streams as one sequence, in the order of their arrival. Bytes before
    // oldest() have been overwritten, even if their entries are retained.
    std::uint64_t end() const { return end_; }

    std::uint64_t oldest() const {
        return end_ > limits_.retained_bytes ? end_ - limits_.retained_bytes : 0;
    }

    // Appends the bytes of [begin, end) to `out`; oldest() <= begin <= end <= this->end().
    void copy(std::uint64_t begin, std::uint64_t end, std::string& out) const;

    // The number of bytes that were evicted, or discarded because their stream was given up.
    std::uint64_t lost_bytes() const { return lost_bytes_; }

    void count_lost(std::uint64_t bytes) { lost_bytes_ += bytes; }

private:
    struct Record {
        std::uint64_t begin; // position in the sequence of all bytes
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
    std::size_t unfinished_before(std::uint64_t end, std::size_t size) const;
    void put(std::uint64_t position, std::string_view bytes);
    void append(Stream stream, std::size_t size);
    void evict();

    OutputLimits limits_;
    std::array<Held, 2> held_;
    std::size_t capacity_;
    char* ring_ = nullptr; // the kernel gives a page of it when the page is first used
    std::deque<Record> records_;
    std::size_t cut_ = 0;         // number of records at the front that have their final number
    std::uint64_t first_seq_ = 1; // the number of records_.front()
    std::uint64_t delivered_ = 1; // the number of the next entry to deliver
    std::uint64_t end_ = 0;       // position behind the last byte
    std::uint64_t delivered_end_ = 0;
    std::uint64_t lost_bytes_ = 0;
};

} // namespace ew::core
