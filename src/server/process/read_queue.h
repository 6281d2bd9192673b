// process/read of one process: its answers, and the requests that wait for output.
#pragma once

#include "base/clock.h"
#include "protocol/process.h"
#include "server/connection/reply.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace ew::server {

struct Process;

class ReadQueue {
public:
    static bool must_wait(const Process& process, const protocol::ReadParams& params);
    static void answer(Process& process, Reply& reply, const protocol::ReadParams& params);

    void add(Reply reply, protocol::ReadParams params, std::optional<TimePoint> deadline);

    // Answers the requests that need not wait any longer, as far as there is room for answers.
    void wake(Process& process, TimePoint now, const Outbox& outbox);

    // Returns true if requests could be answered but the client takes no answers.
    bool is_blocked() const { return is_blocked_; }

    bool has_due(TimePoint now) const;
    std::optional<TimePoint> next_deadline() const;

    std::size_t size() const { return waiting_.size(); }

    // Answers a waiting request with "cancelled". Returns false if the request does not wait here.
    bool cancel(const json::Id& id);

private:
    struct Waiting {
        Reply reply;
        protocol::ReadParams params;
        std::optional<TimePoint> deadline;
    };

    std::vector<Waiting> waiting_;
    bool is_blocked_ = false;
};

} // namespace ew::server
