// The programs that exec/command started: exec/begin, the answers to requests that wait for output,
// and exec/end. Calls (calls.h) decides what follows for the call.
#pragma once

#include "base/clock.h"
#include "protocol/exec.h"
#include "protocol/exec_list.h"
#include "server/approval/records.h"
#include "server/connection/outbox.h"
#include "server/exec/exec_process.h"
#include "server/exec/input_news.h"
#include "server/process/process_service.h"
#include "server/session/environment_choice.h"

#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class Programs {
public:
    static constexpr std::size_t most_waits = 8; // of exec/writeStdin and exec/wait on one process
    // How long an answer, and exec/end, wait for output that a descendant holds back.
    static constexpr Millis answer_grace{50};
    static constexpr Millis end_grace{100};

    // `now`: of the turn; the worker owns it.
    Programs(ProcessService& processes, Records& records, Outbox& outbox, const TimePoint& now,
             bool wants_input_state)
        : processes_(processes),
          records_(records),
          outbox_(outbox),
          now_(now),
          input_news_(wants_input_state, outbox, now) {}

    // The program runs now: sends exec/begin.
    void begin(Process& process);

    // The call of the process waits from now on.
    void begin_wait_for_call(Process& process, const WaitTerms& terms) const;

    // Looks at the program if a wait for a port or for input wants it now.
    void look_for_waits(Process& process) const;

    // Returns true once, when the wait of its call is over.
    bool is_over_for_call(Process& process) const;

    // Returns true if all output has arrived, or a descendant has held it back for too long.
    bool is_over(const Process& process) const;

    // Note the end, answer the requests whose wait is over, send exec/end.
    void note_exit(Process& process);
    void answer_waits(Process& process);

    void tell_input_state(Process& process) { input_news_.look_at(process); }

    void tell_end(Process& process);

    // Serves exec/writeStdin. Returns the process that the request waits for, or null if it is
    // answered.
    Process* write(Reply reply, const protocol::ExecWriteParams& params, const WaitTerms& terms);

    // The same for exec/wait.
    Process* wait(Reply reply, const std::string& id, const WaitTerms& terms);

    // Answers the request with "cancelled". Returns false if it does not wait here.
    bool cancel(const json::Id& request);

    std::vector<protocol::ExecProcessInfo> list(const EnvironmentFilter& filter);

    // Ends programs. Returns the ids of those that were running.
    std::vector<std::string> end_all(const EnvironmentFilter& filter,
                                     std::optional<std::uint64_t> grace_ms);

    // Returns true while a program has ended and its exec/end is not sent.
    bool has_ends_to_tell();

    // Answers every waiting request with `error`. No events follow.
    void abandon(const Error& error);

    std::optional<TimePoint> next_deadline();

private:
    Waits::Progress progress_of(const Process& process) const;
    protocol::ExecProcessInfo info_of(Process& process);
    std::optional<Error> take_input(Process& process, const std::string& chars);
    void tell_interaction(const Process& process, const std::string& chars);
    void audit_end(const Process& process);
    Lane lane_of_end(const Process& process) const;
    bool can_send_end(const Process& process) const;
    Process* find_to_wait_for(const std::string& id, Reply& reply);
    Result<Wait> wait_of(const Process& process, const WaitTerms& terms, std::uint64_t from) const;

    ProcessService& processes_;
    Records& records_;
    Outbox& outbox_;
    const TimePoint& now_;
    InputNews input_news_;
};

} // namespace ew::server
