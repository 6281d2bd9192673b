// Messages on their way to the client, in two lanes. Answers and interactive output go before bulk
// output, but never into the middle of a message. Bulk output gets a share of its own, so that a
// client which asks for more and more answers also gets its notifications.
#pragma once

#include "base/byte_buffer.h"
#include "os/io.h"
#include "protocol/framing.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

namespace ew::mcp {
class Dialect;
}

namespace ew::transcript {
class Recorder;
}

namespace ew::server {

enum class Lane : std::uint8_t { priority, bulk };

class Outbox {
public:
    // How many bytes the bulk lane may hold before flooding processes are no longer read. An answer
    // may have to wait behind these bytes, so the mark is low.
    static constexpr std::size_t bulk_mark = 64 << 10;
    // How many bytes the priority lane may hold before the client counts as not reading, and no
    // output is added.
    static constexpr std::size_t priority_mark = 256 << 10;
    // How many bytes the priority lane may hold before no requests are read until the client has
    // taken answers.
    static constexpr std::size_t answers_mark = 4 << 20;

    // How many bytes of answers a message of bulk output may have to wait for.
    static constexpr std::size_t answers_per_bulk_message = 256 << 10;

    explicit Outbox(os::StdioEnd out) : out_(std::move(out)) {}

    void set_framing(protocol::Framing framing) { framing_ = framing; }

    void set_recorder(transcript::Recorder* recorder) { recorder_ = recorder; }

    // From now on messages go to this dialect, and its lines to the client. It outlives the outbox;
    // null: none.
    void set_dialect(mcp::Dialect* dialect) { dialect_ = dialect; }

    // Returns false if nobody would read exec/end, which is long.
    bool wants_ends() const;

    // Queues the lines that the dialect has for the client.
    void take_from_dialect();

    // Write the text of one message to what begin() returns, then call end().
    ByteBuffer& begin(Lane lane);
    void end();

    // Writes as many bytes as the client takes.
    void flush();

    std::size_t unsent(Lane lane) const {
        return lane == Lane::bulk ? bulk_.size() : priority_.size();
    }

    bool is_full_of_answers() const { return priority_.size() >= answers_mark; }

    bool has_unsent() const { return !bulk_.empty() || !priority_.empty(); }

    bool client_is_gone() const { return client_is_gone_; }

    void note_client_gone();

    // Positions in the byte stream of the bulk lane: the end of the last queued message, and of the
    // bytes that were sent.
    std::uint64_t bulk_queued() const { return queued(bulk_); }

    std::uint64_t bulk_sent() const { return bulk_.consumed(); }

    int fd() const { return out_.get(); }

private:
    struct BulkEnd {
        std::uint64_t end;        // of the message in the bulk lane
        std::uint64_t not_before; // how much of the priority lane was queued before the message
    };

    static std::uint64_t queued(const ByteBuffer& lane) { return lane.consumed() + lane.size(); }

    bool write_from(ByteBuffer& lane, std::size_t most);

    bool is_inside_bulk_message() const { return bulk_.consumed() != bulk_boundary_; }

    std::size_t priority_share() const;
    void pass_boundaries();

    os::StdioEnd out_;
    protocol::Framing framing_ = protocol::Framing::lines;
    transcript::Recorder* recorder_ = nullptr;
    mcp::Dialect* dialect_ = nullptr;
    ByteBuffer priority_;
    ByteBuffer bulk_;
    ByteBuffer composed_; // a message whose length is not known yet, or one for the dialect
    std::deque<BulkEnd> bulk_ends_;
    std::uint64_t bulk_boundary_ = 0; // the last end that was sent
    Lane lane_ = Lane::priority;      // the lane of the message that is being written
    std::size_t begun_at_ = 0;        // where that message starts in its buffer
    bool client_is_gone_ = false;
    std::deque<std::uint64_t> priority_ends_; // ends of the messages in the priority lane
    std::uint64_t priority_boundary_ = 0;     // the last of them that was sent
    std::uint64_t share_begun_ = 0; // how much of the priority lane was sent before the last bulk
};

} // namespace ew::server
