// One program in another environment, for the process layer: its start, its input, signals to it
// and its ending. RemoteOutput handles its output.
#pragma once

#include "protocol/process.h"
#include "protocol/process_start.h"
#include "server/connection/reply.h"
#include "server/environment/remote_handle.h"
#include "server/environment/remote_output.h"
#include "server/environment/remote_start.h"
#include "server/process/backend.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ew::server {

class RemoteProcess {
public:
    static constexpr std::size_t write_size = 256 << 10; // bytes of input per request

    struct Parts {
        Process& process;
        ProcessService& processes;
        Outbox& outbox;
        RemoteConnection& connection;
    };

    RemoteProcess(const Parts& parts, RemoteStart order);
    ~RemoteProcess() = default;
    RemoteProcess(const RemoteProcess&) = delete;
    RemoteProcess& operator=(const RemoteProcess&) = delete;

    RemoteConnection& connection() const { return there_.connection(); }

    // Returns true if its start was sent over the connection with this serial number. 0: not sent
    // yet.
    bool was_sent_over(std::uint64_t serial) const { return there_.was_sent_over(serial); }

    RemoteOutput& output() { return output_; }

    const RemoteOutput& output() const { return output_; }

    // The state that the remote server reported when it started the program, and when the program
    // ended.
    SandboxState sandbox_state() const;

    // Both require a ready server. It may be a different one from that of the plan.
    std::optional<Error> hindrance() const;
    void send_start();

    // See the functions of Backend with the same names.
    void call_off_start();
    void write_input();
    void end_input();
    void signal(Reply reply, const protocol::SignalParams& params);
    void interrupt();
    void resize(Reply reply, const protocol::WindowSize& size);
    bool has_left_overs() const;
    void begin_ending(std::uint64_t grace_ms);
    void check_timers();
    std::optional<TimePoint> next_deadline() const;

    // Answers of the remote server. on_started() may remove the process; it returns what is wrong
    // with the answer, or an empty text.
    std::string on_started(const protocol::Message& answer);
    void on_written(const protocol::Message& answer);
    void on_terminated(const protocol::Message& answer);

    // The server does not answer the start. Removes the process.
    void give_up_start(Error error);

    // The connection is lost. May remove the process.
    void lose(const Error& error);

private:
    TimePoint answer_deadline() const;
    void give_up_ending();

    Process& process_;
    ProcessService& processes_;
    RemoteStart order_;
    RemoteHandle there_;
    RemoteOutput output_;
    protocol::Confinement confinement_;
    bool is_writing_ = false; // input was sent and is not accepted yet
};

} // namespace ew::server
