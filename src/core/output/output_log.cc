#include "core/output/output_log.h"

#include "base/check.h"
#include "core/output/utf8.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace ew::core {

namespace {

OutputLog::Kind kind_of(Stream stream) {
    switch (stream) {
    case Stream::out: return OutputLog::Kind::out;
    case Stream::err: return OutputLog::Kind::err;
    case Stream::pty: return OutputLog::Kind::pty;
    }
    return OutputLog::Kind::out;
}

} // namespace

OutputLog::OutputLog(OutputLimits limits)
    : limits_(limits),
      // One chunk more than is retained, so that the next read always has room behind the held
      // bytes.
      capacity_(limits.retained_bytes + limits.chunk_bytes + held_.size() * longest_unfinished) {
    void* const memory = ::mmap(nullptr, capacity_, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) ring_ = static_cast<char*>(memory);
}

OutputLog::~OutputLog() {
    if (ring_ != nullptr) ::munmap(ring_, capacity_);
}

std::size_t OutputLog::undelivered_bytes() const {
    return static_cast<std::size_t>(end_ - delivered_end_);
}

bool OutputLog::has_room() const {
    return undelivered_bytes() + limits_.chunk_bytes <= limits_.retained_bytes &&
           end_seq() - delivered_ < limits_.entries;
}

void OutputLog::put(std::uint64_t position, std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
        ring_[(position + i) % capacity_] = bytes[i];
}

OutputLog::Space OutputLog::space(Stream stream, std::size_t wanted) {
    CHECK(has_memory());
    const Held& held = held_[index_of(stream)];
    put(end_, {held.bytes.data(), held.size});

    const std::size_t room = std::min(wanted, limits_.chunk_bytes);
    const std::size_t begin = static_cast<std::size_t>((end_ + held.size) % capacity_);
    const std::size_t first = std::min(room, capacity_ - begin);
    return {{ring_ + begin, ring_}, {first, room - first}};
}

// Returns how many of the last `size` bytes before `end` begin a character that may still be
// completed.
std::size_t OutputLog::unfinished_before(std::uint64_t end, std::size_t size) const {
    std::array<char, longest_unfinished + 1> last = {};
    const std::size_t looked_at = std::min(size, last.size());
    for (std::size_t i = 0; i < looked_at; ++i)
        last[i] = ring_[(end - looked_at + i) % capacity_];
    return unfinished_tail({last.data(), looked_at});
}

void OutputLog::commit(Stream stream, std::size_t count, TimePoint now) {
    if (count == 0) return;
    Held& held = held_[index_of(stream)];
    std::size_t rest = held.size + count;
    const std::uint64_t end = end_ + rest;
    // A full read behind held bytes is slightly longer than a chunk.
    if (rest > limits_.chunk_bytes) {
        const std::size_t tail = unfinished_before(end_ + limits_.chunk_bytes, limits_.chunk_bytes);
        append(stream, limits_.chunk_bytes - tail);
        rest -= limits_.chunk_bytes - tail;
    }
    held.size = unfinished_before(end, rest);
    held.stream = stream;
    held.since = now;
    for (std::size_t i = 0; i < held.size; ++i)
        held.bytes[i] = ring_[(end - held.size + i) % capacity_];
    append(stream, rest - held.size);
}

void OutputLog::flush(Stream stream) {
    Held& held = held_[index_of(stream)];
    if (held.size == 0) return;
    put(end_, {held.bytes.data(), held.size});
    append(held.stream, std::exchange(held.size, 0));
}

bool OutputLog::holds_too_long(Stream stream, TimePoint now) const {
    const Held& held = held_[index_of(stream)];
    return held.size > 0 && held.stream == stream && now - held.since >= limits_.utf8_hold;
}

std::optional<TimePoint> OutputLog::held_until() const {
    std::optional<TimePoint> until;
    for (const Held& held : held_)
        if (held.size > 0) until = earlier(until, held.since + limits_.utf8_hold);
    return until;
}

void OutputLog::append(Stream stream, std::size_t size) {
    if (size == 0) return;
    const Kind kind = kind_of(stream);
    const bool may_grow = has_uncut() && records_.back().kind == kind &&
                          records_.back().size + size <= limits_.chunk_bytes;
    if (may_grow)
        records_.back().size += static_cast<std::uint32_t>(size);
    else
        records_.push_back({end_, static_cast<std::uint32_t>(size), kind});
    end_ += size;
    evict();
}

void OutputLog::append_exited() {
    records_.push_back({end_, 0, Kind::exited});
}

void OutputLog::append_closed() {
    records_.push_back({end_, 0, Kind::closed});
}

void OutputLog::evict() {
    while (!records_.empty() && first_seq_ < delivered_) {
        const bool too_many_bytes = end_ - records_.front().begin > limits_.retained_bytes;
        if (!too_many_bytes && records_.size() <= limits_.entries) return;
        lost_bytes_ += records_.front().size;
        records_.pop_front();
        ++first_seq_;
        --cut_;
    }
}

void OutputLog::cut_one() {
    if (has_uncut()) ++cut_;
}

void OutputLog::cut_all() {
    cut_ = records_.size();
}

std::uint64_t OutputLog::first_after(std::uint64_t seq) const {
    return seq < first_seq_ ? first_seq_ : std::min(seq, last_seq()) + 1;
}

bool OutputLog::has_output_after(std::uint64_t seq) const {
    for (std::uint64_t at = first_after(seq); at <= last_seq(); ++at)
        if (records_[static_cast<std::size_t>(at - first_seq_)].size > 0) return true;
    return false;
}

OutputLog::Entry OutputLog::entry(std::uint64_t seq) const {
    CHECK(seq >= first_seq_ && seq < next_seq());
    const Record& record = records_[static_cast<std::size_t>(seq - first_seq_)];
    Entry entry = {seq, record.kind, record.size, {}};
    if (record.size == 0) return entry;
    const std::size_t begin = static_cast<std::size_t>(record.begin % capacity_);
    const std::size_t first = std::min<std::size_t>(record.size, capacity_ - begin);
    entry.bytes = {std::string_view(ring_ + begin, first),
                   std::string_view(ring_, record.size - first)};
    return entry;
}

std::optional<std::uint64_t> OutputLog::end_of(std::uint64_t seq) const {
    if (seq < first_seq_ || seq >= next_seq()) return std::nullopt;
    const Record& record = records_[static_cast<std::size_t>(seq - first_seq_)];
    return record.begin + record.size;
}

void OutputLog::copy(std::uint64_t begin, std::uint64_t end, std::string& out) const {
    CHECK(begin >= oldest() && begin <= end && end <= end_);
    if (begin == end) return;
    const std::size_t size = static_cast<std::size_t>(end - begin);
    const std::size_t at = static_cast<std::size_t>(begin % capacity_);
    const std::size_t first = std::min(size, capacity_ - at);
    out.append(ring_ + at, first);
    out.append(ring_, size - first);
}

OutputLog::Entry OutputLog::next_undelivered() {
    if (delivered_ == next_seq()) cut_one();
    const Entry next = entry(delivered_);
    delivered_end_ = records_[static_cast<std::size_t>(delivered_ - first_seq_)].begin + next.size;
    return next;
}

} // namespace ew::core
