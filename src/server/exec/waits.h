// The requests that wait for the output of one program: the exec/command that started it, and
// exec/writeStdin. Each ends at its deadline, after output and silence, or with the program. Pure.
#pragma once

#include "base/clock.h"
#include "core/output/output_view.h"
#include "json/types.h"
#include "server/connection/reply.h"
#include "server/exec/wait_terms.h"

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
    std::uint64_t output_from = 0; // position in the log: output behind it can be "quiet again"
    core::OutputView view;         // what the answer shows
    std::optional<std::string> notice = {};
};

// Of exec/writeStdin.
struct WritersWait {
    Reply reply;
    Wait wait;
    std::string chars = {}; // that were typed with it
};

class Waits {
public:
    // How far the program is.
    struct Progress {
        std::uint64_t end_of_output = 0; // position in the log
        TimePoint last_output = {};
        // When its output is complete enough to answer, once it has exited. Nothing less is an
        // answer then, since it tells how the program ended.
        std::optional<TimePoint> over_at = {};
    };

    // The call of exec/command that started the program waits. Its reply stays with the call.
    void begin_for_call(Wait wait) { of_call_ = std::move(wait); }

    // Returns true once, when the wait of the call is over. The call may leave its wait here for
    // longer: while a person is asked whether the command is to run again.
    bool is_over_for_call(const Progress& progress, TimePoint now);

    // Ends the wait of the call. Returns nullopt if it does not wait here.
    std::optional<Wait> take_for_call();

    void add(WritersWait wait) { of_writers_.push_back(std::move(wait)); }

    std::size_t writers() const { return of_writers_.size(); }

    // Returns the first wait of a writer that is over, or the one of this request, if there is one.
    std::optional<WritersWait> take_over(const Progress& progress, TimePoint now);
    std::optional<WritersWait> take(const json::Id& request);

    bool is_empty() const { return !of_call_ && of_writers_.empty(); }

    std::optional<TimePoint> next_deadline(const Progress& progress) const;

    // After each read, before the log forgets anything.
    void look_at(const core::OutputLog& log);

    // Nothing will happen any more.
    void abandon(const Error& error);

private:
    std::optional<WritersWait> take_at(std::size_t index);

    std::optional<Wait> of_call_;
    bool has_told_call_ = false; // that its wait is over
    std::vector<WritersWait> of_writers_;
};

} // namespace ew::server
