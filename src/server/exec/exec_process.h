// The part of a process that exec/command adds: its call, the requests that wait for its output,
// and the events that were sent. It lives as long as the entry in the process table.
#pragma once

#include "base/clock.h"
#include "core/output/output_view.h"
#include "protocol/exec_events.h"
#include "server/exec/input_schedule.h"
#include "server/exec/waits.h"
#include "server/process/consumer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ew::server {

struct ExecProcess final : Consumer {
    // About the call that started it.
    std::uint64_t call = 0; // serial number, kept after the call was answered
    protocol::ExecBeginEvent begin = {};
    std::optional<std::string> stdin_text = {};
    std::uint64_t max_tokens = 0;
    std::uint64_t approval_ms = 0;
    TimePoint decided_at;
    std::string header; // of its deltas: ,"params":{"callId":…,"processId":…,"seq":

    // These change while the program runs.
    bool is_begun = false; // exec/begin was sent, so output may follow
    std::uint64_t spawn_ms = 0;
    Waits waits = {};
    std::optional<TimePoint> ended_at = {}; // when the server noticed the exit
    bool is_end_sent = false;
    InputSchedule input_schedule = {};
    protocol::InputState told_input = {}; // by exec/inputState

    core::OutputView unread;     // since the last answer
    core::OutputView transcript; // since the start

    std::uint64_t serial_of_call() const override { return call; }

    bool takes_output() const override { return is_begun; }

    bool has_ended() const override { return is_end_sent; }

    bool is_settled() const override { return is_end_sent && waits.is_empty(); }

    std::string_view delta_header() const override { return header; }

    void look_at(const core::OutputLog& log) override {
        unread.look_at(log);
        transcript.look_at(log);
        waits.look_at(log);
    }
};

} // namespace ew::server
