#include "sandbox/supervise/call_errands.h"

#include "os/pidfd.h"

#include <sys/epoll.h>

#include <cerrno>
#include <iterator>
#include <utility>

namespace ew::sandbox {

using Source = EventQueue::Source;

void CallErrands::begin(WaitingCall call, Task task, TimePoint now) {
    const pid_t process = call.caller.process;
    Result<os::Errand> errand = os::Errand::begin(task.body, task.kept, now + patience_);
    if (!errand) return give_up(call, EAGAIN); // as for any resource
    const std::uint64_t serial = next_serial_++;
    std::string program = program_of(call.caller);
    UniqueFd pidfd = os::open_pidfd(process);
    const auto at =
        running_
            .emplace(serial, Running{std::move(call), std::move(program), std::move(pidfd),
                                     std::move(*errand), std::move(task.look_ups),
                                     std::move(task.settings)})
            .first;
    const Running& running = at->second;
    if (!events_.add(running.errand.fd(), Source::errand_result, serial, EPOLLIN)) {
        give_up(running.call, EAGAIN);
        (void)end(at);
        return;
    }
    if (running.caller) // otherwise its end is noticed later
        (void)events_.add(running.caller.get(), Source::errand_caller, serial, EPOLLIN);
}

void CallErrands::give_up(const WaitingCall& call, int error) {
    if (call.changes.empty()) return notifications_.answer(call.id, error);
    notifications_.let_through(call.id);
}

std::optional<CallErrands::Finished> CallErrands::take_result(std::uint64_t serial) {
    const auto at = running_.find(serial);
    if (at == running_.end()) return std::nullopt; // it ended in this turn
    Running& running = at->second;
    std::optional<std::string> result = running.errand.take_result();
    if (!result) return std::nullopt;
    Finished finished{std::move(running.call), std::move(running.program),
                      std::move(running.look_ups), std::move(running.settings), std::move(*result)};
    (void)end(at);
    return finished;
}

// Possibly only a thread has ended, or the process has executed another program. The errand then
// runs to its end, and its answer reaches no caller.
void CallErrands::on_caller(std::uint64_t serial) {
    const auto at = running_.find(serial);
    if (at == running_.end()) return;
    events_.remove(at->second.caller.get());
    if (!notifications_.is_waiting(at->second.call.id)) (void)end(at);
}

CallErrands::Map::iterator CallErrands::end(Map::iterator at) {
    events_.remove(at->second.errand.fd());
    if (at->second.caller) events_.remove(at->second.caller.get());
    return running_.erase(at);
}

void CallErrands::on_time(TimePoint now) {
    for (auto at = running_.begin(); at != running_.end();) {
        const bool is_late = at->second.errand.deadline() <= now;
        if (is_late) give_up(at->second.call, ETIMEDOUT);
        at = is_late ? end(at) : std::next(at);
    }
}

std::optional<TimePoint> CallErrands::next_deadline() const {
    std::optional<TimePoint> next;
    for (const auto& entry : running_)
        next = earlier(next, entry.second.errand.deadline());
    return next;
}

} // namespace ew::sandbox
