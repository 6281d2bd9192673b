// Output in pieces, on two streams: nothing is lost or changed, and no entry ends inside a
// character but where it was let go of. Where that is, is looked up the slow way.
#include "core/output/utf8.h"

#include "core/output/output_log.h"
#include "fuzz/scenes.h"
#include "support/slow_utf8.h"

#include <array>

namespace ew::fuzz {

namespace {

using core::OutputLog;
using core::Stream;

const test::SlowUtf8& slow() {
    static const test::SlowUtf8 instance; // too slow to make for every input
    return instance;
}

class Scene {
public:
    void add(Stream stream, std::string_view bytes) {
        while (!bytes.empty()) {
            if (!log_.has_room()) deliver(false);
            require(log_.has_room());
            const OutputLog::Space space = log_.space(stream, bytes.size());
            const std::size_t first = bytes.copy(space.at[0], space.size[0]);
            const std::size_t count = first + bytes.substr(first).copy(space.at[1], space.size[1]);
            require(count > 0);
            log_.commit(stream, count, TimePoint());
            of(stream).went_in.append(bytes.substr(0, count));
            bytes.remove_prefix(count);
        }
    }

    void flush(Stream stream) {
        deliver(false);
        log_.flush(stream);
        deliver(true);
    }

    void deliver(bool may_end_inside) {
        while (log_.has_undelivered()) {
            const OutputLog::Entry entry = log_.next_undelivered();
            require(entry.seq == ++seq_);
            const std::string bytes = std::string(entry.bytes[0]).append(entry.bytes[1]);
            require(!bytes.empty() && bytes.size() <= limits.chunk_bytes);
            Bytes& stream = streams_[entry.kind == OutputLog::Kind::err];
            stream.came_out.append(bytes);
            const std::size_t end = stream.came_out.size();
            if (may_end_inside)
                stream.released = end;
            else
                stream.ends.push_back({stream.released, end});
            log_.mark_delivered();
        }
    }

    void require_whole() const {
        for (const Bytes& stream : streams_) {
            require(stream.went_in == stream.came_out);
            for (const End& end : stream.ends)
                require(!slow().is_inside_character(
                    std::string_view(stream.went_in).substr(end.begin), end.end - end.begin));
        }
    }

private:
    static constexpr core::OutputLimits limits = {
        .retained_bytes = 100, .chunk_bytes = 23, .entries = 12};

    // Of an entry that may not end inside a character. What begins before `begin` was let go of, so
    // its rest is no character any more.
    struct End {
        std::size_t begin;
        std::size_t end;
    };

    struct Bytes {
        std::string went_in;
        std::string came_out;
        std::size_t released = 0;
        std::vector<End> ends;
    };

    Bytes& of(Stream stream) { return streams_[stream == Stream::err]; }

    OutputLog log_{limits};
    std::uint64_t seq_ = 0;
    std::array<Bytes, 2> streams_;
};

} // namespace

void utf8(std::string_view input) {
    require(core::unfinished_tail(input) == slow().unfinished_tail(input));

    Scene scene;
    for (std::string piece : cut(input)) {
        // The first byte says what to do with the others.
        const unsigned char what = piece.empty() ? 0xff : static_cast<unsigned char>(piece.front());
        const Stream stream = what % 2 == 0 ? Stream::out : Stream::err;
        if (what % 16 < 2)
            scene.flush(stream);
        else if (what % 16 < 6)
            scene.deliver(false);
        if (!piece.empty()) piece.erase(0, 1);
        scene.add(stream, piece);
    }
    scene.flush(Stream::out);
    scene.flush(Stream::err);
    scene.require_whole();
}

} // namespace ew::fuzz
