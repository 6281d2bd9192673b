#include "server/process/screen_requests.h"

#include "core/output/utf8.h"
#include "server/process/process.h"
#include "server/process/screen_result.h"
#include "server/process/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace ew::server {

namespace {

// Returns the number of bytes of output that the screen is to show, or nullopt for all.
Result<std::optional<std::uint64_t>> position_of(const core::OutputLog& log,
                                                 const protocol::ScreenParams& params) {
    std::optional<std::uint64_t> position = params.at_offset;
    if (!params.after_seq && !position) return position;
    const std::string member = params.after_seq ? "afterSeq" : "atOffset";
    if (params.since_version || (params.after_seq && params.at_offset))
        return Error{ErrorKind::invalid_params,
                     fmt::format("{}: expected without {}", member,
                                 params.since_version ? "sinceVersion" : "atOffset"),
                     "", member};
    if (params.after_seq) position = log.end_of(*params.after_seq);
    if (position && *position >= log.oldest() && *position <= log.end()) return position;
    return Error{ErrorKind::invalid_params,
                 fmt::format("{}: this output is not kept any more, or has not come yet", member),
                 fmt::format("the bytes from {} to {} can be shown", log.oldest(), log.end()),
                 member};
}

} // namespace

void ScreenRequests::handle(Process& process, Reply reply, const protocol::ScreenParams& params) {
    Result<std::optional<std::uint64_t>> position = position_of(process.log, params);
    if (!position) return reply.fail(position.error());
    Waiting waiting = {std::move(reply), params, process.serial, process.log.end()};
    Result<void> begun = *position ? look_back(process, waiting, **position) : make_live(process);
    if (!begun) return waiting.reply.fail(begun.error());
    if (waiting_.empty() && draw(waiting, first_slice)) return answer(waiting);
    waiting_.push_back(std::move(waiting));
}

// Begins to draw an earlier screen.
Result<void> ScreenRequests::look_back(const Process& process, Waiting& waiting,
                                       std::uint64_t position) const {
    const auto count = std::ranges::count_if(
        waiting_, [](const Waiting& other) { return other.past.has_value(); });
    if (static_cast<std::size_t>(count) >= most_past)
        return Error{ErrorKind::limit,
                     fmt::format("{} requests for earlier screens wait already", most_past),
                     "wait for their answers"};
    ReplayStart start = replay_start(process);
    start.position = std::min(start.position, position);
    core::Screen screen = TRY(core::Screen::of(start.size, LiveScreen::first_version));
    Past past = {core::Playback(std::move(screen), start.position), process.sizes, start.position};
    process.log.copy(start.position, position, past.bytes);
    past.is_complete = start.is_complete;
    waiting.past = std::move(past);
    waiting.end = position;
    return {};
}

// Afterwards the process has a screen, which is far enough for the log to go on.
Result<void> ScreenRequests::make_live(Process& process) {
    if (process.screen) return {};
    forget_oldest();
    process.screen = std::make_unique<LiveScreen>(TRY(LiveScreen::of(process, next_version_++)));
    (void)process.screen->draw(process, first_slice, process.log.end());
    return {};
}

// Makes room for one more live screen. The one that was looked at longest ago goes; a request that
// still waits for it makes it anew.
void ScreenRequests::forget_oldest() {
    std::size_t count = 0;
    Process* oldest = nullptr;
    table_.for_each([&](Process& process) {
        if (!process.screen || process.screen->answers()) return;
        ++count;
        const bool is_older =
            oldest == nullptr || process.screen->last_look() < oldest->screen->last_look();
        if (is_older) oldest = &process;
    });
    if (count >= most_screens) oldest->screen.reset();
}

// Returns true if all that was asked for is drawn, or will never be.
bool ScreenRequests::draw(Waiting& waiting, std::size_t most) {
    if (waiting.past) {
        Past& past = *waiting.past;
        const std::uint64_t drawn = past.playback.position() - past.begin;
        const std::string_view rest = std::string_view(past.bytes).substr(drawn, most);
        (void)past.playback.play(rest, past.sizes);
        return past.playback.position() >= waiting.end;
    }
    Process* const process = table_.find(waiting.serial);
    if (process == nullptr || !make_live(*process)) return true;
    return process->screen->draw(*process, most, waiting.end);
}

void ScreenRequests::answer(Waiting& waiting) {
    const protocol::ScreenParams& params = waiting.params;
    if (waiting.past) {
        const core::Playback& playback = waiting.past->playback;
        protocol::ScreenResult result = screen_result(playback.screen(), params.format, {});
        result.offset = playback.position();
        result.complete = waiting.past->is_complete;
        return waiting.reply.send(result);
    }
    Process* const process = table_.find(waiting.serial);
    if (process == nullptr) return waiting.reply.fail(table_.unknown(params.process_id));
    if (Result<void> live = make_live(*process); !live) return waiting.reply.fail(live.error());
    LiveScreen& screen = *process->screen;
    const std::uint64_t version = screen.look(next_version_++);
    // A version that is not reached yet is of another process.
    const std::uint64_t since = params.since_version.value_or(0);
    protocol::ScreenResult result =
        screen_result(screen.screen(), params.format, since > version ? 0 : since);
    result.version = version;
    result.offset = screen.position();
    result.complete = screen.is_complete();
    waiting.reply.send(result);
}

void ScreenRequests::on_time() {
    if (!has_work()) return;
    if (!draw(waiting_.front(), slice)) {
        // One that takes long does not hold up the others.
        std::rotate(waiting_.begin(), waiting_.begin() + 1, waiting_.end());
        return;
    }
    Waiting done = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    answer(done);
}

void ScreenRequests::abandon(const Error& error) {
    for (Waiting& waiting : waiting_)
        waiting.reply.fail(error);
    waiting_.clear();
}

bool ScreenRequests::cancel(const json::Id& id) {
    return cancel_request(waiting_, id);
}

} // namespace ew::server
