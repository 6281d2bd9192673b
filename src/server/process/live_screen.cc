#include "server/process/live_screen.h"

#include "server/process/process.h"

#include <algorithm>
#include <utility>

namespace ew::server {

ReplayStart replay_start(const Process& process) {
    const core::OutputLog& log = process.log;
    ReplayStart start;
    start.position = log.oldest();
    start.is_complete = start.position == 0;
    if (!start.is_complete) {
        constexpr std::uint64_t looked_at = 8192;
        std::string bytes;
        log.copy(start.position, std::min(start.position + looked_at, log.end()), bytes);
        start.position += core::first_whole(bytes);
    }
    start.size = {process.request.terminal->rows, process.request.terminal->cols};
    start.size = process.sizes.at(start.position).value_or(start.size);
    return start;
}

Result<LiveScreen> LiveScreen::of(const Process& process, std::uint64_t version) {
    const ReplayStart start = replay_start(process);
    core::Screen screen = TRY(core::Screen::of(start.size, version));
    return LiveScreen(core::Playback(std::move(screen), start.position), version,
                      start.is_complete);
}

bool LiveScreen::draw(const Process& process, std::size_t most, std::uint64_t end) {
    // The log has overtaken the screen. keep_screen_up() is there to prevent it.
    if (playback_.position() < process.log.oldest()) {
        playback_.skip_to(process.log.oldest());
        is_complete_ = false;
    }
    const std::uint64_t begin = playback_.position();
    const std::uint64_t until = std::min<std::uint64_t>(end, begin + most);
    std::string bytes;
    if (until > begin) process.log.copy(begin, until, bytes);
    (void)playback_.play(bytes, process.sizes);
    return playback_.position() >= end;
}

std::uint64_t LiveScreen::look(std::uint64_t next) {
    looked_at_ = playback_.position();
    next_version_ = next;
    const std::uint64_t version = playback_.screen().version();
    playback_.screen().set_version(next);
    return version;
}

bool LiveScreen::is_forgotten() const {
    return !answers_ && playback_.position() - looked_at_ > most_unseen;
}

std::string LiveScreen::take_replies() {
    std::string replies = playback_.screen().take_replies();
    if (!answers_) replies.clear();
    return replies;
}

Result<void> check_answers(const std::optional<os::WindowSize>& terminal) {
    if (!terminal)
        return Error{ErrorKind::invalid_params,
                     "answerQueries: expected only with tty, as a terminal answers queries",
                     "start it with tty: true", "answerQueries"};
    return core::Screen::check({terminal->rows, terminal->cols});
}

void keep_screen_up(Process& process) {
    if (!process.screen) return;
    LiveScreen& screen = *process.screen;
    const std::uint64_t end = process.log.end();
    const std::uint64_t allowed = screen.answers() ? 0 : LiveScreen::most_behind;
    // Output that changes very many cells is drawn later, or never if the log drops it first.
    for (int turns = 4; turns > 0 && end - screen.position() > allowed; --turns)
        (void)screen.draw(process, LiveScreen::most_behind, end);
    if (screen.is_forgotten()) process.screen.reset();
}

} // namespace ew::server
