#include "server/process/cast.h"

#include "core/screen/asciicast.h"
#include "core/text/display.h"
#include "server/process/process.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace ew::server {

namespace {

using Changes = std::deque<core::SizeHistory::Change>;
using Marks = std::vector<core::OutputTimes::Mark>;

std::string terminal_of(const Process& process) {
    for (const auto& [name, value] : process.request.environment)
        if (name == "TERM") return value;
    return {};
}

// Follows the output from one mark, or change of the size, to the next.
class CastRun {
public:
    CastRun(const Process& process, const ReplayStart& start)
        : log_(process.log),
          position_(start.position),
          changes_(process.sizes.changes()),
          marks_(process.times.marks()) {
        change_ =
            std::ranges::upper_bound(changes_, position_, {}, &core::SizeHistory::Change::position);
        mark_ = std::ranges::upper_bound(marks_, position_, {}, &core::OutputTimes::Mark::position);
        if (mark_ != marks_.begin()) now_ = std::prev(mark_)->at;
    }

    // When the output at the position came. Returns nullopt if there is none.
    std::optional<TimePoint> now() const { return now_; }

    void write(core::Asciicast& cast, TimePoint begin) {
        const auto since = [begin](TimePoint at) {
            return std::chrono::duration_cast<Millis>(at - begin);
        };
        while (position_ < log_.end()) {
            const std::uint64_t next = next_stop();
            std::string bytes;
            log_.copy(position_, next, bytes);
            cast.output(since(now_.value_or(begin)), bytes);
            position_ = next;
            for (; mark_ != marks_.end() && mark_->position <= position_; ++mark_)
                now_ = mark_->at;
            for (; change_ != changes_.end() && change_->position <= position_; ++change_)
                cast.resize(since(change_->at), change_->size);
        }
    }

private:
    std::uint64_t next_stop() const {
        std::uint64_t next = log_.end();
        if (mark_ != marks_.end()) next = std::min(next, mark_->position);
        if (change_ != changes_.end()) next = std::min(next, change_->position);
        return next;
    }

    const core::OutputLog& log_;
    std::uint64_t position_;
    const Changes& changes_;
    const Marks& marks_;
    Changes::const_iterator change_; // the next one
    Marks::const_iterator mark_;     // the next one
    std::optional<TimePoint> now_;
};

} // namespace

protocol::CastResult cast_of(const Process& process, protocol::CastFormat format) {
    const ReplayStart start = replay_start(process);
    CastRun run(process, start);
    const TimePoint begin =
        start.is_complete ? process.started_at : run.now().value_or(process.started_at);
    const auto version =
        format == protocol::CastFormat::v2 ? core::CastVersion::v2 : core::CastVersion::v3;
    core::CastHeader header;
    header.size = start.size;
    header.began_at = (process.started_at_ms + millis(begin - process.started_at)) / 1000;
    header.command = core::shell_quoted(process.request.argv);
    header.terminal = terminal_of(process);
    core::Asciicast cast(version, header);
    if (!start.is_complete)
        cast.marker(Millis(0), fmt::format("{} bytes of output before this are no longer kept",
                                           start.position));
    run.write(cast, begin);
    if (process.exit_is_logged) {
        const TimePoint end =
            process.started_at + Millis(static_cast<std::int64_t>(process.exit->usage.wall_ms));
        cast.exit(std::chrono::duration_cast<Millis>(end - begin), process.exit->code);
    }
    return {cast.take(), start.is_complete};
}

} // namespace ew::server
