// Input that was written to a process and is not yet in its pipe or terminal. Accepted bytes are
// queued, up to a limit; later writes are held without an answer.
#pragma once

#include "base/byte_buffer.h"
#include "protocol/process.h"
#include "server/connection/reply.h"

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

namespace ew::server {

class InputQueue {
public:
    static constexpr std::size_t most_queued = 8 << 20; // bytes
    static constexpr std::size_t most_held = 64 << 20;  // bytes
    static constexpr std::size_t remembered_ids = 4096;

    struct HeldWrite {
        Reply reply;
        protocol::WriteParams params;
    };

    // Requires a running process with a stdin or a terminal.
    void open() { is_open_ = true; }

    bool is_open() const { return is_open_; }

    bool takes_writes() const { return is_open_ && !is_ending_; }

    bool has_room_for(std::size_t size) const { return held_.empty() && fits(size); }

    // Returns the length of the longest line to which these bytes belong.
    std::size_t append(std::string_view bytes);

    // Returns false if a write with this id was accepted before.
    bool accept_id(const std::string& write_id);

    bool may_hold(std::size_t size) const { return held_bytes_ + size <= most_held; }

    void hold(Reply reply, protocol::WriteParams params);

    std::size_t held_count() const { return held_.size(); }

    // Removes and returns the first held write. Returns nullopt if there is no room for it.
    std::optional<HeldWrite> take_held();

    // Answers a held write with "cancelled". Returns false if the request is not a held write.
    bool cancel(const json::Id& id);

    // Refuses all further writes. Returns the writes that were held.
    std::deque<HeldWrite> close();

    // For the backend: the bytes to write next.
    bool is_empty() const { return queued_.empty(); }

    std::string_view queued() const { return queued_.view(); }

    void consume(std::size_t count) { queued_.consume(count); }

    // Nothing follows the queued bytes: the backend closes the input after them.
    void end() { is_ending_ = true; }

    bool is_ending() const { return is_ending_; }

    // A terminal has no end of input except the character for it. The character only counts at the
    // start of a line; within a line it passes on the line first (termios(3), VEOF).
    void end_terminal(char end_of_file, bool is_canonical);

private:
    bool fits(std::size_t size) const {
        return queued_.empty() || queued_.size() + size <= most_queued;
    }

    bool is_open_ = false;
    bool is_ending_ = false;
    ByteBuffer queued_;
    std::size_t line_length_ = 0; // of a terminal: bytes typed since the last line end
    std::deque<HeldWrite> held_;
    std::size_t held_bytes_ = 0;
    std::unordered_set<std::string> accepted_ids_;
    std::deque<std::string> accepted_order_;
};

} // namespace ew::server
