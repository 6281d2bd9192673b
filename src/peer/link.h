// The program that leads to a server: the server itself, or ssh, docker, kubectl and the like. Its
// stdin and stdout carry messages, one a line; the end of what it says on stderr is kept, since it
// tells why it ended. Never blocks and never calls: the loop says what is ready.
#pragma once

#include "base/byte_buffer.h"
#include "base/result.h"
#include "os/poller.h"
#include "os/proc.h"
#include "os/spawn.h"
#include "protocol/framing.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::peer {

class Link {
public:
    static constexpr std::size_t kept_error_text = 4 << 10;

    // What the poller reports its descriptors under.
    struct Tokens {
        os::Token start;
        os::Token output;
        os::Token error;
        os::Token input;
    };

    // Errors: as os::PendingStart::begin.
    static Result<std::unique_ptr<Link>> begin(const Tokens& tokens, os::SpawnRequest request,
                                               os::Poller& poller);
    ~Link(); // ends the program with its process group, also if it has left that to others
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    pid_t pid() const { return pid_; }

    // The poller reports the start. Error: the program cannot be executed.
    Result<void> on_start_report();

    bool is_running() const { return static_cast<bool>(output_); }

    // Adds a line, which must end in a newline. Everything is sent as the program takes it.
    void send(std::string_view line);

    std::size_t unsent() const { return unsent_.size(); }

    // The program has closed its stdin: nothing can be sent any more.
    bool has_lost_input() const { return has_lost_input_; }

    // The poller reports room in stdin.
    void on_room() { flush(); }

    // Reads what is there, at most `budget` bytes. False: stdout has ended.
    bool read(std::size_t budget);

    // The next message; absent: there is none yet. Valid until the next call.
    std::optional<protocol::Frame> next() { return deframer_.next(); }

    // While paused stdout is not read, so that the other side is held up.
    void pause(bool is_paused);

    void read_error_text();

    // A line of stdout that is no message, fit to show.
    void note_strange_line(std::string line) { strange_line_ = std::move(line); }

    // What was said by now is no reason for an end that comes later.
    void forget_error_text();

    // The server at the other end is asked to end, by the end of its input.
    void close_input();

    // A child of this process has ended and been reaped just now, with this wait status. True: it
    // was the program. Reads /proc if it had to do with it.
    bool note_reaped(pid_t pid, int status);

    bool has_exited() const { return exit_.has_value(); }

    // "ssh ended with status 255: Connection refused", as far as it is known, and the last strange
    // line; safe to show.
    std::string ending() const;

private:
    Link(const Tokens& tokens, os::SpawnRequest request, os::Poller& poller)
        : tokens_(tokens), request_(std::move(request)), poller_(poller) {}

    void flush();
    bool has_heirs() const;
    std::string last_error_line() const;

    Tokens tokens_;
    os::SpawnRequest request_;
    os::Poller& poller_;
    std::unique_ptr<os::PendingStart> start_; // until it has told how it went
    pid_t pid_ = 0;
    UniqueFd input_;
    UniqueFd output_;
    UniqueFd error_;
    bool is_paused_ = false;
    bool waits_for_room_ = false;
    bool has_lost_input_ = false;
    bool has_ended_ = false; // its stdout has
    ByteBuffer unsent_;
    protocol::Deframer deframer_{protocol::Framing::lines};
    std::string error_text_;
    std::string strange_line_;
    std::optional<int> exit_;                // wait status
    std::vector<os::ProcessIdentity> heirs_; // children of this process, in the program's group
};

} // namespace ew::peer
