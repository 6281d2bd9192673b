// The screen of a process that somebody looks at, or that has execward as its terminal. It is kept
// up with the output until nobody has looked for long. Other processes have none and pay nothing.
#pragma once

#include "base/result.h"
#include "core/screen/playback.h"
#include "os/pty.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace ew::server {

struct Process;

class LiveScreen {
public:
    // How much output may wait to be drawn. Less than the log retains, by more than a chunk.
    static constexpr std::size_t most_behind = 128 << 10;
    // How much output is drawn without a look.
    static constexpr std::uint64_t most_unseen = 4 << 20;
    // Of a screen that no request has made. 0 is before the first one.
    static constexpr std::uint64_t first_version = 1;

    // Begins with the oldest output that is kept. Requires a terminal. Errors: see core::Screen.
    static Result<LiveScreen> of(const Process& process, std::uint64_t version);

    // A screen that answers the queries of the program.
    void answer() { answers_ = true; }

    bool answers() const { return answers_; }

    // Draws at most this many bytes of the output that it has not seen. Returns true if it has come
    // to `end`.
    bool draw(const Process& process, std::size_t most, std::uint64_t end);

    // Somebody looks: returns the version of the screen. What changes from now on has `next`, which
    // is higher than any other.
    std::uint64_t look(std::uint64_t next);

    // Higher for a screen that was looked at later.
    std::uint64_t last_look() const { return next_version_; }

    // Returns true if nobody has looked for so long that it is not kept up any more.
    bool is_forgotten() const;

    std::string take_replies();

    // False if the log no longer had the beginning of the output.
    bool is_complete() const { return is_complete_; }

    std::uint64_t position() const { return playback_.position(); }

    const core::Screen& screen() const { return playback_.screen(); }

private:
    LiveScreen(core::Playback playback, std::uint64_t version, bool is_complete)
        : playback_(std::move(playback)),
          is_complete_(is_complete),
          next_version_(version),
          looked_at_(playback_.position()) {}

    core::Playback playback_;
    bool is_complete_;
    bool answers_ = false;
    std::uint64_t next_version_;
    std::uint64_t looked_at_; // the position
};

// For a program whose queries are to be answered. Errors: it has no terminal; see core::Screen.
Result<void> check_answers(const std::optional<os::WindowSize>& terminal);

// New output has come: the screen is kept up, if there is one.
void keep_screen_up(Process& process);

// Where a replay of the kept output begins.
struct ReplayStart {
    std::uint64_t position = 0;
    core::ScreenSize size = {};
    bool is_complete = true;
};

ReplayStart replay_start(const Process& process);

} // namespace ew::server
