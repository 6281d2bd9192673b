#include "core/output/output_log.h"
#include "core/output/utf8.h"
#include "support/random.h"
#include "support/testing.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

using ew::Millis;
using ew::TimePoint;
using ew::core::OutputLimits;
using ew::core::OutputLog;
using ew::core::Stream;
using Kind = ew::core::OutputLog::Kind;

namespace {

constexpr OutputLimits small = {.retained_bytes = 64, .chunk_bytes = 16, .entries = 8};
const TimePoint start = TimePoint() + Millis(1000);

void put(OutputLog& log, Stream stream, std::string_view bytes, TimePoint now = start) {
    const OutputLog::Space space = log.space(stream, bytes.size());
    const std::size_t first = bytes.copy(space.at[0], space.size[0]);
    const std::size_t second = bytes.substr(first).copy(space.at[1], space.size[1]);
    log.commit(stream, first + second, now);
}

std::string text(const OutputLog::Entry& entry) {
    return std::string(entry.bytes[0]).append(entry.bytes[1]);
}

// Delivers everything: what each entry held, marked with its stream unless that is stdout.
std::vector<std::string> deliver_all(OutputLog& log) {
    std::vector<std::string> entries;
    while (log.has_undelivered()) {
        const OutputLog::Entry entry = log.next_undelivered();
        const std::string mark = entry.kind == Kind::err      ? "err:"
                                 : entry.kind == Kind::exited ? "exited"
                                 : entry.kind == Kind::closed ? "closed"
                                                              : "";
        entries.push_back(mark + text(entry));
        log.mark_delivered();
    }
    return entries;
}

using Entries = std::vector<std::string>;

} // namespace

TEST_SUITE_BEGIN("core/output_log");

TEST_CASE("a new log has nothing to deliver and numbers from 1") {
    OutputLog log(small);

    CHECK_FALSE(log.has_undelivered());
    CHECK(log.first_seq() == 1);
    CHECK(log.next_seq() == 1);
    CHECK(log.has_room());
}

TEST_CASE("a machine without memory for a log is told") {
    constexpr OutputLimits endless = {.retained_bytes = std::size_t{1} << 60};

    CHECK(OutputLog(small).has_memory());
    CHECK_FALSE(OutputLog(endless).has_memory());
}

TEST_CASE("what nobody has cut yet is joined into one entry") {
    OutputLog log(small);
    put(log, Stream::out, "one ");
    put(log, Stream::out, "two ");
    put(log, Stream::out, "three");

    CHECK(deliver_all(log) == Entries{"one two three"});
}

TEST_CASE("an entry that was delivered does not grow any more") {
    OutputLog log(small);
    put(log, Stream::out, "one");
    CHECK(deliver_all(log) == Entries{"one"});

    put(log, Stream::out, "two");

    CHECK(deliver_all(log) == Entries{"two"});
    CHECK(text(log.entry(1)) == "one");
    CHECK(text(log.entry(2)) == "two");
}

TEST_CASE("runs of different streams stay apart and in order") {
    OutputLog log(small);
    put(log, Stream::out, "a");
    put(log, Stream::err, "b");
    put(log, Stream::out, "c");

    CHECK(deliver_all(log) == Entries{"a", "err:b", "c"});
}

TEST_CASE("an entry holds no more than a chunk, and what does not fit whole begins another") {
    OutputLog log(small);
    put(log, Stream::out, "0123456789");
    put(log, Stream::out, "abcdef");
    put(log, Stream::out, "g");

    CHECK(deliver_all(log) == Entries{"0123456789abcdef", "g"});
}

TEST_CASE("a read is at most a chunk, and what was held back comes on top of it") {
    OutputLog log(small);
    CHECK(log.space(Stream::out, 1000).size[0] == 16);

    put(log, Stream::out, "\xe2\x82");

    const OutputLog::Space space = log.space(Stream::out, 1000);
    CHECK(space.size[0] + space.size[1] == 16);
}

TEST_CASE(
    "a whole read behind held bytes makes a full entry and a small one, cut between characters") {
    OutputLog log(small);
    put(log, Stream::out, "\xe2\x82");
    put(log, Stream::out,
        "\xac"
        "23456789abcd\xc3\xa9"
        "f");

    CHECK(deliver_all(log) == Entries{"\xe2\x82\xac"
                                      "23456789abcd",
                                      "\xc3\xa9"
                                      "f"});
}

TEST_CASE("a character that comes in two reads is delivered whole") {
    OutputLog log(small);
    put(log, Stream::out, "caf\xc3");
    CHECK(deliver_all(log) == Entries{"caf"});

    put(log, Stream::out, "\xa9!");

    CHECK(deliver_all(log) == Entries{"\xc3\xa9!"});
}

TEST_CASE("a character that comes byte by byte is delivered whole") {
    OutputLog log(small);
    for (const std::string_view byte : {"\xf0", "\x9f", "\x98"}) {
        put(log, Stream::out, byte);
        CHECK_FALSE(log.has_undelivered());
    }

    put(log, Stream::out, "\x80");

    CHECK(deliver_all(log) == Entries{"\xf0\x9f\x98\x80"});
}

TEST_CASE("each stream has its own unfinished character") {
    OutputLog log(small);
    put(log, Stream::out, "a\xc3");
    put(log, Stream::err, "b\xe2\x82");
    put(log, Stream::out, "\xa9");
    put(log, Stream::err, "\xac");

    CHECK(deliver_all(log) == Entries{"a", "err:b", "\xc3\xa9", "err:\xe2\x82\xac"});
}

TEST_CASE("an unfinished character is let go of when its stream ends") {
    OutputLog log(small);
    put(log, Stream::out, "a\xe2\x82");
    put(log, Stream::err, "\xc3");

    log.flush(Stream::out);

    CHECK(deliver_all(log) == Entries{"a\xe2\x82"});
    CHECK(log.held_until().has_value());
}

TEST_CASE("an unfinished character is held for its time and no longer") {
    OutputLog log(small);
    put(log, Stream::out, "\xc3", start);
    put(log, Stream::err, "\xe2", start + Millis(100));
    CHECK(*log.held_until() == start + Millis(500));

    CHECK_FALSE(log.holds_too_long(Stream::out, start + Millis(499)));
    CHECK(log.holds_too_long(Stream::out, start + Millis(500)));
    CHECK_FALSE(log.holds_too_long(Stream::pty, start + Millis(500)));
    CHECK_FALSE(log.holds_too_long(Stream::err, start + Millis(500)));

    log.flush(Stream::out);
    CHECK(deliver_all(log) == Entries{"\xc3"});
    CHECK(*log.held_until() == start + Millis(600));

    log.flush(Stream::err);
    CHECK(deliver_all(log) == Entries{"err:\xe2"});
    CHECK_FALSE(log.held_until().has_value());
}

TEST_CASE("an unfinished character whose rest waits to be read is held once more") {
    OutputLog log(small);
    put(log, Stream::out, "\xc3", start);

    log.hold_again(Stream::out, start + Millis(500));

    CHECK_FALSE(log.holds_too_long(Stream::out, start + Millis(999)));
    CHECK(log.holds_too_long(Stream::out, start + Millis(1000)));
}

TEST_CASE("an unfinished character of a terminal stays output of the terminal") {
    OutputLog log(small);
    put(log, Stream::pty, "\xe2\x82");

    for (const Stream stream : {Stream::out, Stream::err, Stream::pty})
        log.flush(stream);

    REQUIRE(log.has_undelivered());
    CHECK(log.next_undelivered().kind == Kind::pty);
}

TEST_CASE("the terminal has its own kind") {
    OutputLog log(small);
    put(log, Stream::pty, "x");

    CHECK(log.next_undelivered().kind == Kind::pty);
}

TEST_CASE("exit and close have numbers of their own and no bytes") {
    OutputLog log(small);
    put(log, Stream::out, "a");
    log.append_exited();
    put(log, Stream::out, "b");
    log.append_closed();

    CHECK(deliver_all(log) == Entries{"a", "exited", "b", "closed"});
    CHECK(log.next_seq() == 5);
}

TEST_CASE("a reader and the delivery cut alike: what one has numbered the other gets unchanged") {
    OutputLog log(small);
    put(log, Stream::out, "one");
    log.cut_all();
    put(log, Stream::out, "two");

    CHECK(text(log.entry(1)) == "one");
    CHECK(deliver_all(log) == Entries{"one", "two"});
    CHECK(text(log.entry(1)) == "one");
    CHECK(text(log.entry(2)) == "two");
}

TEST_CASE("cutting one gives only the oldest pending entry its number") {
    OutputLog log(small);
    put(log, Stream::out, "a");
    put(log, Stream::err, "b");

    log.cut_one();

    CHECK(log.next_seq() == 2);
    CHECK(log.has_uncut());
    CHECK(log.last_seq() == 2);
}

TEST_CASE("cutting with nothing pending changes nothing") {
    OutputLog log(small);

    log.cut_one();
    log.cut_all();

    CHECK(log.next_seq() == 1);
}

TEST_CASE("the first entry behind a place is found, wherever the place is") {
    OutputLog log(small);
    put(log, Stream::out, "a");
    put(log, Stream::err, "b");

    CHECK(log.first_after(0) == 1);
    CHECK(log.first_after(1) == 2);
    CHECK(log.first_after(2) == 3);
    CHECK(log.first_after(~0ULL) == 3);
}

TEST_CASE("exit and close do not count as output that a reader waits for") {
    OutputLog log(small);
    put(log, Stream::out, "a");
    log.append_exited();

    CHECK(log.has_output_after(0));
    CHECK_FALSE(log.has_output_after(1));
}

TEST_CASE("the oldest delivered entries go when the bound of bytes is passed, and are counted") {
    OutputLog log(small);
    for (const std::string_view chunk : {"aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc",
                                         "dddddddddddddddd", "eeeeeeeeee"}) {
        put(log, Stream::out, chunk);
        (void)deliver_all(log);
    }

    CHECK(log.first_seq() == 2);
    CHECK(log.lost_bytes() == 16);
    CHECK(text(log.entry(2)) == "bbbbbbbbbbbbbbbb");
    CHECK(text(log.entry(5)) == "eeeeeeeeee");
}

TEST_CASE("what was not delivered is never evicted") {
    OutputLog log(small);
    while (log.has_room())
        put(log, Stream::out, "0123456789abcdef");

    CHECK(log.first_seq() == 1);
    CHECK(log.lost_bytes() == 0);
    CHECK(deliver_all(log).size() == 4);
}

TEST_CASE("there is no room while a chunk more could pass the bound, and again after delivery") {
    OutputLog log(small);
    put(log, Stream::out, "0123456789abcdef");
    put(log, Stream::out, "0123456789abcdef");
    put(log, Stream::out, "0123456789abcdef");
    CHECK(log.has_room());
    put(log, Stream::out, "x");
    CHECK_FALSE(log.has_room());

    (void)log.next_undelivered();
    log.mark_delivered();

    CHECK(log.has_room());
}

TEST_CASE("one-byte writes that are delivered one by one are bounded by the number of entries") {
    OutputLog log(small);
    for (int i = 0; i < 20; ++i) {
        put(log, Stream::out, "x");
        (void)deliver_all(log);
    }

    CHECK(log.next_seq() == 21);
    CHECK(log.first_seq() == 13);
    CHECK(log.lost_bytes() == 12);
}

TEST_CASE("there is no room when too many entries are undelivered, however small they are") {
    OutputLog log(small);
    std::size_t count = 0;
    for (; log.has_room(); ++count)
        put(log, count % 2 == 0 ? Stream::out : Stream::err, "x");

    CHECK(count == small.entries);
}

TEST_CASE("bytes that were discarded elsewhere are counted as lost") {
    OutputLog log(small);

    log.count_lost(5);

    CHECK(log.lost_bytes() == 5);
}

TEST_CASE("the default bounds are one mebibyte, 64 KiB chunks, 8192 entries and half a second") {
    const OutputLimits limits;

    CHECK(limits.retained_bytes == 1048576);
    CHECK(limits.chunk_bytes == 65536);
    CHECK(limits.entries == 8192);
    CHECK(limits.utf8_hold == Millis(500));
}

namespace {

// The same promises kept the simple way: whole strings, and a list that is walked.
class Model {
public:
    explicit Model(OutputLimits limits) : limits_(limits) {}

    void put(Stream stream, std::string_view bytes) {
        std::string& held = held_[stream];
        held += bytes;
        const std::size_t tail = ew::core::unfinished_tail(held);
        const std::string kept = held.substr(held.size() - tail);
        if (held.size() > limits_.chunk_bytes) {
            std::string full = held.substr(0, limits_.chunk_bytes);
            full.resize(full.size() - ew::core::unfinished_tail(full));
            append(stream, full);
            held.erase(0, full.size());
        }
        append(stream, held.substr(0, held.size() - kept.size()));
        held = kept;
    }

    void flush(Stream stream) {
        append(stream, held_[stream]);
        held_[stream].clear();
    }

    std::string deliver() {
        if (delivered == cut) ++cut;
        return entries[delivered++].second;
    }

    void cut_one() { cut = std::min(cut + 1, entries.size()); }

    void cut_all() { cut = entries.size(); }

    std::vector<std::pair<Stream, std::string>> entries; // all there ever were
    std::size_t first = 0, cut = 0, delivered = 0;       // indices of entries
    std::uint64_t lost = 0;

private:
    void append(Stream stream, const std::string& bytes) {
        if (bytes.empty()) return;
        const bool joins = cut < entries.size() && entries.back().first == stream &&
                           entries.back().second.size() + bytes.size() <= limits_.chunk_bytes;
        if (joins)
            entries.back().second += bytes;
        else
            entries.emplace_back(stream, bytes);
        while (first < delivered && is_over_bound())
            lost += entries[first++].second.size();
    }

    bool is_over_bound() const {
        std::size_t bytes = 0;
        for (std::size_t i = first; i < entries.size(); ++i)
            bytes += entries[i].second.size();
        return bytes > limits_.retained_bytes || entries.size() - first > limits_.entries;
    }

    OutputLimits limits_;
    std::map<Stream, std::string> held_;
};

void compare(const OutputLog& log, const Model& model) {
    REQUIRE(log.first_seq() == model.first + 1);
    REQUIRE(log.next_seq() == model.cut + 1);
    REQUIRE(log.last_seq() == model.entries.size());
    REQUIRE(log.lost_bytes() == model.lost);
    REQUIRE(log.has_undelivered() == (model.delivered < model.entries.size()));
    for (std::size_t i = model.first; i < model.cut; ++i)
        REQUIRE(text(log.entry(i + 1)) == model.entries[i].second);
}

// Bytes that are often the beginning of a character, and often not.
std::string output(ew::test::Random& random, std::size_t most) {
    constexpr std::string_view alphabet = "ab\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff";
    std::string bytes;
    for (std::size_t count = random.below(most + 1); count > 0; --count)
        bytes += alphabet[random.below(alphabet.size())];
    return bytes;
}

void play(std::uint32_t seed, OutputLimits limits) {
    ew::test::Random random(seed);
    OutputLog log(limits);
    Model model(limits);
    for (int step = 0; step < 2000; ++step) {
        const Stream stream = random.below(3) == 0 ? Stream::err : Stream::out;
        switch (random.below(10)) {
        case 0:
            log.flush(stream);
            model.flush(stream);
            break;
        case 1:
            log.cut_one();
            model.cut_one();
            break;
        case 2:
            log.cut_all();
            model.cut_all();
            break;
        case 3:
        case 4:
        case 5:
            if (!log.has_undelivered()) break;
            REQUIRE(text(log.next_undelivered()) == model.deliver());
            log.mark_delivered();
            break;
        default:
            if (!log.has_room()) break;
            const OutputLog::Space space = log.space(stream, limits.chunk_bytes);
            std::string bytes = output(random, space.size[0] + space.size[1]);
            put(log, stream, bytes);
            model.put(stream, bytes);
        }
        compare(log, model);
    }
}

} // namespace

TEST_CASE("whatever happens in whatever order, the log behaves like its simple model") {
    for (std::uint32_t seed = 1; seed <= 8; ++seed) {
        CAPTURE(seed);
        play(seed, small);
        play(seed, {.retained_bytes = 50, .chunk_bytes = 7, .entries = 100}); // a ring of 57 bytes
    }
}

TEST_CASE("megabytes that wrap around the ring many times arrive byte for byte") {
    ew::test::Random random(7);
    OutputLog log(OutputLimits{});
    const std::string input = random.bytes(5 << 20);
    std::string delivered;

    for (std::size_t at = 0; at < input.size();) {
        const std::size_t count = std::min(1 + random.below(65'530), input.size() - at);
        put(log, Stream::out, std::string_view(input).substr(at, count));
        at += count;
        while (log.has_undelivered()) {
            delivered += text(log.next_undelivered());
            log.mark_delivered();
        }
    }
    log.flush(Stream::out);
    if (log.has_undelivered()) delivered += text(log.next_undelivered());

    CHECK((delivered == input)); // in brackets: a difference would be printed whole
    CHECK(log.lost_bytes() >= (4 << 20) - 65'536);
}

TEST_SUITE_END();
