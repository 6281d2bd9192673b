// Tells the client when a program begins or ceases to wait for input: exec/inputState. Does nothing
// unless the client has asked for it.
#pragma once

#include "base/clock.h"
#include "server/connection/outbox.h"
#include "server/process/process.h"

#include <optional>

namespace ew::server {

class InputNews {
public:
    // `outbox` and `now` outlive this object.
    InputNews(bool is_wanted, Outbox& outbox, const TimePoint& now)
        : is_wanted_(is_wanted), outbox_(outbox), now_(now) {}

    // Called once a turn. Requires a process of exec/command that has begun.
    void look_at(Process& process);

    std::optional<TimePoint> next_deadline(const Process& process) const;

private:
    bool is_watched(const Process& process) const;
    void tell(Process& process, const protocol::InputState& state);

    const bool is_wanted_;
    Outbox& outbox_;
    const TimePoint& now_;
};

} // namespace ew::server
