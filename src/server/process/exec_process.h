// What exec/command adds to a process: who started it and why it may run, who waits for its output,
// and which events were sent. Lives and dies with the entry in the process table.
#pragma once

#include "base/clock.h"
#include "core/output/output_view.h"
#include "protocol/exec.h"
#include "server/connection/reply.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

// How the answer to a call is to look, and how long it may take.
struct WaitTerms {
    std::uint64_t yield_ms = 0; // 0: until the exit
    std::optional<std::uint64_t> quiet_ms = {};
    std::uint64_t max_tokens = 0;
    protocol::ResultFormat format = protocol::ResultFormat::full;
};

// A request that waits for the process: the exec/command that started it, or an exec/writeStdin.
struct ExecWait {
    std::optional<Reply> reply; // absent: the call holds it
    WaitTerms terms;
    TimePoint since;
    std::optional<TimePoint> deadline;
    std::uint64_t output_from = 0; // position in the log: output behind it can be "quiet again"
    core::OutputView view;         // what the answer shows
    bool is_put_by = false;        // its call is asking whether to try again
    std::string chars = {};        // that were typed with it
    std::optional<std::string> notice = {};
};

struct ExecProcess {
    // About the call that started it.
    std::uint64_t call = 0; // its serial, also after it was answered
    protocol::ExecBeginEvent begin = {};
    std::optional<std::string> stdin_text = {};
    std::uint64_t max_tokens = 0;
    std::uint64_t approval_ms = 0;
    TimePoint decided_at;
    std::string header; // of its deltas: ,"params":{"callId":…,"processId":…,"seq":

    // Since it runs.
    bool is_begun = false; // exec/begin was sent, so output may follow
    std::uint64_t spawn_ms = 0;
    std::vector<ExecWait> waits = {};
    std::optional<TimePoint> ended_at = {}; // that it has exited was seen then
    bool is_end_sent = false;
    bool has_news = false; // it is in the list of those that the exec layer has to look at

    core::OutputView unread;     // since the last answer
    core::OutputView transcript; // since the start

    bool is_settled() const { return is_end_sent && waits.empty(); }

    // After each read, before the log forgets anything.
    void look_at(const core::OutputLog& log) {
        unread.look_at(log);
        transcript.look_at(log);
        for (ExecWait& wait : waits)
            wait.view.look_at(log);
    }
};

} // namespace ew::server
