// process/screen: what the terminal of a process shows now, or has shown after an earlier piece of
// its output. Much output is drawn in slices, so that the loop never waits for it.
#pragma once

#include "protocol/screen.h"
#include "server/connection/outbox.h"
#include "server/connection/reply.h"
#include "server/process/live_screen.h"
#include "server/process/process_table.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class ScreenRequests {
public:
    // How much output one turn draws. A new screen begins with more than a chunk, so that it stays
    // ahead of what the log drops.
    static constexpr std::size_t slice = 64 << 10;        // bytes
    static constexpr std::size_t first_slice = 128 << 10; // bytes
    static constexpr std::size_t most_screens = 16; // live ones, of programs that we do not answer
    static constexpr std::size_t most_past = 8;     // requests for earlier screens that wait

    ScreenRequests(ProcessTable& table, const Outbox& outbox) : table_(table), outbox_(outbox) {}

    // Requires a started process with a terminal.
    void handle(Process& process, Reply reply, const protocol::ScreenParams& params);

    // Draws one slice of what is waited for.
    void on_time();

    // Returns true if on_time() has something to do now.
    bool has_work() const { return !waiting_.empty() && !outbox_.is_full_of_answers(); }

    std::size_t waiting_count() const { return waiting_.size(); }

    // Answers a waiting request with "cancelled". Returns false if it does not wait here.
    bool cancel(const json::Id& id);

    // Answers every waiting request with `error`.
    void abandon(const Error& error);

private:
    // An earlier screen is drawn from a copy, as the log may drop its output meanwhile.
    struct Past {
        core::Playback playback;
        core::SizeHistory sizes;
        std::uint64_t begin = 0; // position of the first byte
        std::string bytes = {};
        bool is_complete = true;
    };

    struct Waiting {
        Reply reply;
        protocol::ScreenParams params;
        std::uint64_t serial = 0; // of the process
        std::uint64_t end = 0;    // the position that the live screen has to reach
        std::optional<Past> past = {};
    };

    Result<void> look_back(const Process& process, Waiting& waiting, std::uint64_t position) const;
    Result<void> make_live(Process& process);
    void forget_oldest();
    bool draw(Waiting& waiting, std::size_t most);
    void answer(Waiting& waiting);

    ProcessTable& table_;
    const Outbox& outbox_;
    std::vector<Waiting> waiting_;
    std::uint64_t next_version_ = LiveScreen::first_version + 1; // no screen has one of another
};

} // namespace ew::server
