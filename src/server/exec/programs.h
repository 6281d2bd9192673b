// The programs that exec/command started: exec/begin, the answers to whoever waits for their
// output, exec/end. What the calls that started them make of that is theirs (see calls.h).
#pragma once

#include "base/clock.h"
#include "protocol/exec.h"
#include "server/approval/records.h"
#include "server/connection/outbox.h"
#include "server/exec/exec_process.h"
#include "server/process/process_service.h"
#include "server/session/environment_choice.h"

#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class Programs {
public:
    static constexpr std::size_t most_waits = 8; // of exec/writeStdin, on one process
    // What a descendant holds back is waited for: by an answer, and by exec/end.
    static constexpr Millis answer_grace{50};
    static constexpr Millis end_grace{100};

    Programs(ProcessService& processes, Records& records, Outbox& outbox)
        : processes_(processes), records_(records), outbox_(outbox) {}

    // The program runs: tells exec/begin.
    void begin(Process& process);

    // Its call waits from now on.
    void begin_wait_for_call(Process& process, const WaitTerms& terms) const;

    // Returns true once, when the wait of its call is over.
    bool is_over_for_call(Process& process) const;

    // Everything the program has put out is here, or is held back by a descendant for too long.
    bool is_over(const Process& process) const;

    // Notes its end, answers the requests whose wait is over, tells exec/end.
    void note_exit(Process& process);
    void answer_waits(Process& process);
    void tell_end(Process& process);

    // exec/writeStdin. Returns the process that the request waits for now, or null: it is answered.
    Process* write(Reply reply, const protocol::ExecWriteParams& params, const WaitTerms& terms);

    // The request is answered with "cancelled". Returns false if it does not wait here.
    bool cancel(const json::Id& request);

    std::vector<protocol::ExecProcessInfo> list(const EnvironmentFilter& filter);

    // Ends programs; returns the ids of those that were running.
    std::vector<std::string> end_all(const EnvironmentFilter& filter,
                                     std::optional<std::uint64_t> grace_ms);

    // Returns true while the exec/end of a program that has ended was not sent.
    bool has_ends_to_tell();

    // Answers requests that still wait: nothing will happen any more.
    void abandon(const Error& error);

    void set_now(TimePoint now) { now_ = now; }

    std::optional<TimePoint> next_deadline();

private:
    Waits::Progress progress_of(const Process& process) const;
    protocol::ExecProcessInfo info_of(Process& process);
    std::optional<Error> take_input(Process& process, const protocol::ExecWriteParams& params);
    void tell_interaction(const Process& process, const std::string& chars);
    void audit_end(const Process& process);
    Lane lane_of_end(const Process& process) const;
    bool can_send_end(const Process& process) const;
    Process* find(const std::string& id, Reply& reply);

    ProcessService& processes_;
    Records& records_;
    Outbox& outbox_;
    TimePoint now_ = clock_now();
};

} // namespace ew::server
