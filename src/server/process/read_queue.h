// process/read of one process: its answers, and the requests that wait for output.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "protocol/process_output.h"
#include "server/connection/reply.h"
#include "server/process/program_look.h"
#include "server/process/until_watch.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ew::server {

struct Process;

class ReadQueue {
public:
    // How many requests with `until` may wait. Each of them looks at all output.
    static constexpr std::size_t most_watching = 8;

    static bool must_wait(const Process& process, const protocol::ReadParams& params);
    static void answer(Process& process, Reply& reply, const protocol::ReadParams& params);

    // A request that waits.
    struct Waiting {
        Reply reply;
        protocol::ReadParams params;
        std::optional<TimePoint> deadline = {};
        std::optional<UntilWatch> watch = {}; // set if params.until is
        std::uint64_t output_from = 0;        // position in the log: quietMs needs output after it
    };

    void add(Waiting waiting) { waiting_.push_back(std::move(waiting)); }

    // Makes `waiting` look at the output that its answer will have. Errors: what it waits for.
    Result<void> begin_watch(const Process& process, Waiting& waiting) const;

    // The caller calls this after each read, before the log drops anything.
    void look_at(const core::OutputLog& log) {
        for (Waiting& read : waiting_)
            if (read.watch) read.watch->look_at(log);
    }

    // Answers the requests that need not wait any longer, as far as there is room for answers.
    void wake(Process& process, TimePoint now, const Outbox& outbox);

    // Returns true if requests could be answered but the client takes no answers.
    bool is_blocked() const { return is_blocked_; }

    bool has_due(const Process& process, TimePoint now) const {
        return is_due(next_deadline(process), now);
    }

    std::optional<TimePoint> next_deadline(const Process& process) const;

    std::size_t size() const { return waiting_.size(); }

    // Answers a waiting request with "cancelled". Returns false if the request does not wait here.
    bool cancel(const json::Id& id);

private:
    void look_at_program(Process& process, TimePoint now);

    std::vector<Waiting> waiting_;
    bool is_blocked_ = false;
};

} // namespace ew::server
