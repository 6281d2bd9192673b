// The requests that wait for the output of one program: the exec/command that started it, and
// exec/writeStdin and exec/wait. Each wait ends at its deadline, by output that it looks for, after
// output and silence, or with the program. Pure.
#pragma once

#include "base/clock.h"
#include "core/output/output_view.h"
#include "json/types.h"
#include "protocol/exec.h"
#include "server/connection/reply.h"
#include "server/exec/wait_terms.h"
#include "server/process/program_look.h"
#include "server/process/until_watch.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

struct Wait {
    WaitTerms terms;
    TimePoint since;
    std::optional<TimePoint> deadline;
    std::uint64_t output_from = 0; // position in the log: quiet_ms needs output after it
    core::OutputView view;         // the output for the answer
    std::optional<UntilWatch> watch = {};
    std::optional<protocol::WaitEnd> end = {}; // set when the wait is over, if terms.until is
    std::optional<std::string> notice = {};
    std::optional<protocol::ExecEdit> edited = {};

    void look_at(const core::OutputLog& log) {
        view.look_at(log);
        if (watch) watch->look_at(log);
    }
};

// The wait of an exec/writeStdin or exec/wait.
struct WritersWait {
    Reply reply;
    Wait wait;
    std::optional<std::string> chars = {}; // the input; nullopt: of an exec/wait
};

class Waits {
public:
    // The progress of the program.
    struct Progress {
        std::uint64_t end_of_output = 0; // position in the log
        TimePoint last_output = {};
        // When the output is complete enough for an answer. Set once the program has exited: from
        // then on, an answer must report the end, so it waits for this.
        std::optional<TimePoint> over_at = {};
    };

    // Begins the wait of the call that started the program. Its reply stays with the call.
    void begin_for_call(Wait wait) { of_call_ = std::move(wait); }

    // Returns true once, when the wait of the call is over. The call may leave its wait here while
    // a person decides about a second attempt.
    bool is_over_for_call(const Progress& progress, TimePoint now);

    // Ends the wait of the call and returns it. Returns nullopt if the call does not wait here.
    std::optional<Wait> take_for_call();

    void add(WritersWait wait) { of_writers_.push_back(std::move(wait)); }

    std::size_t writers() const { return of_writers_.size(); }

    // Return the first writer's wait that is over, or the wait of this request. Return nullopt if
    // there is none.
    std::optional<WritersWait> take_over(const Progress& progress, TimePoint now);
    std::optional<WritersWait> take(const json::Id& request);

    bool is_empty() const { return !of_call_ && of_writers_.empty(); }

    std::optional<TimePoint> next_deadline(const Progress& progress) const;

    // The caller calls this after each read, before the log drops anything.
    void look_at(const core::OutputLog& log);

    // What a look at the program is to find out now, for waits that need one.
    WantedLook wanted(TimePoint now) const;
    void take(const UntilWatch::Look& look, TimePoint now);

    // Answers every waiting request with `error`. No events follow.
    void abandon(const Error& error);

private:
    std::optional<WritersWait> take_at(std::size_t index);
    std::optional<TimePoint> next_look() const;

    std::optional<Wait> of_call_;
    bool has_told_call_ = false; // the end of its wait
    std::vector<WritersWait> of_writers_;
};

} // namespace ew::server
