// A server that this program starts and talks to through pipes, one message per line. It shares our
// stderr. The caller must ignore SIGPIPE, so that a dead server does not end this program.
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
    // `environment` is the complete environment, as NAME=value. A relative path of the program
    // starts from our directory, everything else from `directory`.
    static Result<ChildServer> start(const std::vector<std::string>& command,
                                     const std::vector<std::string>& environment,
                                     const std::string& directory);

    ChildServer(ChildServer&& other) noexcept = default;
    ChildServer& operator=(ChildServer&&) = delete;
    ChildServer(const ChildServer&) = delete;
    ChildServer& operator=(const ChildServer&) = delete;

    // Ends the server if it still runs. The server has a few seconds after the end of its input.
    ~ChildServer();

    void send_line(std::string_view text);

    // Closes the input after the server has taken everything sent.
    void close_input();

    // Sends SIGKILL to the started process.
    void kill();

    // Returns the next complete line without its newline, valid until the next call.
    std::optional<std::string_view> next_line();

    bool has_ended() const { return !output_; }

    // Reads and writes what is possible now, or waits until something is. Returns false if the
    // deadline has passed.
    bool exchange(TimePoint deadline);

    // Returns the exit status, or 128+N after signal N. Returns nullopt if the server still runs.
    std::optional<int> wait_for_exit(TimePoint deadline);

private:
    ChildServer(pid_t pid, UniqueFd pidfd, UniqueFd input, UniqueFd output);

    void write_some();
    void read_some();

    pid_t pid_; // not reaped while pidfd_ is open, so the pid is not reused
    UniqueFd pidfd_;
    UniqueFd input_;
    UniqueFd output_;
    ByteBuffer unsent_;
    ByteBuffer received_;
    std::size_t taken_ = 0; // length of the last returned line in received_
    bool closes_input_ = false;
    std::optional<int> status_;
};

} // namespace ew::transcript
