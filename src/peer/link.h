// The program that leads to a server: the server itself, or ssh, docker, kubectl and the like. Its
// stdin and stdout carry messages, one per line. The end of its stderr is kept, since it says why
// the program ended. A link never blocks and has no callbacks: the loop says what is ready.
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

    // The poller's tokens for its descriptors.
    struct Tokens {
        os::Token start;
        os::Token output;
        os::Token error;
        os::Token input;
    };

    // Errors: see os::PendingStart::begin.
    static Result<std::unique_ptr<Link>> begin(const Tokens& tokens, os::SpawnRequest request,
                                               os::Poller& poller);
    ~Link(); // kills the program and its process group, also if the program itself has ended
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    pid_t pid() const { return pid_; }

    // Call this when the poller reports the start. Returns an error if the program cannot be
    // executed.
    Result<void> on_start_report();

    bool is_running() const { return static_cast<bool>(output_); }

    // Queues a line, which must end in a newline. It is sent as the program reads its stdin.
    void send(std::string_view line);

    std::size_t unsent() const { return unsent_.size(); }

    // Returns true if the program has closed its stdin, so nothing can be sent any more.
    bool has_lost_input() const { return has_lost_input_; }

    // Call this when the poller reports room in stdin.
    void on_room() { flush(); }

    // Reads at most `budget` available bytes. Returns false if stdout has ended.
    bool read(std::size_t budget);

    // Returns the next message, valid until the next call. Returns nullopt if there is none yet.
    std::optional<protocol::Frame> next() { return deframer_.next(); }

    // While paused, stdout is not read, so that the other side has to wait.
    void pause(bool is_paused);

    void read_error_text();

    // Records a line of stdout that is not a message, in a form that is safe to show.
    void note_strange_line(std::string line) { strange_line_ = std::move(line); }

    // Discards the stderr text so far, because it does not explain a later end.
    void forget_error_text();

    // Closes the program's stdin, which asks the server at the other end to end.
    void close_input();

    // Reports that a child of this process was reaped with this wait status. Returns true if it was
    // the program. Reads /proc if the child belonged to it.
    bool note_reaped(pid_t pid, int status);

    bool has_exited() const { return exit_.has_value(); }

    // Returns "ssh ended with status 255: Connection refused", as far as it is known, and the last
    // strange line. The text is safe to show.
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
    std::unique_ptr<os::PendingStart> start_; // until its outcome is known
    pid_t pid_ = 0;
    UniqueFd input_;
    UniqueFd output_;
    UniqueFd error_;
    bool is_paused_ = false;
    bool waits_for_room_ = false;
    bool has_lost_input_ = false;
    bool has_ended_ = false; // stdout has ended
    ByteBuffer unsent_;
    protocol::Deframer deframer_{protocol::Framing::lines};
    std::string error_text_;
    std::string strange_line_;
    std::optional<int> exit_;                // wait status
    std::vector<os::ProcessIdentity> heirs_; // children of ours in the program's group
};

} // namespace ew::peer
