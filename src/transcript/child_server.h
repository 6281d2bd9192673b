// A server that this program starts and talks to through pipes, one message a line. Its stderr is
// ours. Ignore SIGPIPE before use: a server that is gone must not end us.
#pragma once

#include "base/byte_buffer.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::transcript {

class ChildServer {
public:
    // `environment`: all of it, as NAME=value.
    static Result<ChildServer> start(const std::vector<std::string>& command,
                                     const std::vector<std::string>& environment);

    ChildServer(ChildServer&& other) noexcept = default;
    ChildServer& operator=(ChildServer&&) = delete;
    ChildServer(const ChildServer&) = delete;
    ChildServer& operator=(const ChildServer&) = delete;

    // Ends the server if it has not ended: it has a few seconds after the end of its input.
    ~ChildServer();

    void send_line(std::string_view text);

    // After what was sent has been taken.
    void close_input();

    // SIGKILL to the process that was started.
    void kill();

    // The next whole line that has come, without its newline; valid until the next call.
    std::optional<std::string_view> next_line();

    bool has_ended() const { return !output_; }

    // Reads and writes what can be at once, or waits for that. False: the deadline has passed.
    bool exchange(TimePoint deadline);

    // The exit status, 128+N after signal N. Absent: it still runs.
    std::optional<int> wait_for_exit(TimePoint deadline);

private:
    ChildServer(pid_t pid, UniqueFd pidfd, UniqueFd input, UniqueFd output);

    void write_some();
    void read_some();

    pid_t pid_; // not reaped while pidfd_ is open, so that the number stays its own
    UniqueFd pidfd_;
    UniqueFd input_;
    UniqueFd output_;
    ByteBuffer unsent_;
    ByteBuffer received_;
    std::size_t taken_ = 0; // of received_: the line that was handed out last
    bool closes_input_ = false;
    std::optional<int> status_;
};

} // namespace ew::transcript
