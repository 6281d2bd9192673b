// One program that runs in another environment: its start, its input, signals to it and its ending,
// as the process layer wants them. What comes back of it is in its output.
#pragma once

#include "protocol/process.h"
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
    static constexpr std::size_t write_size = 256 << 10; // bytes of input in one request

    struct Parts {
        Process& process;
        ProcessService& processes;
        Outbox& outbox;
        RemoteConnection& connection;
    };

    RemoteProcess(const Parts& parts, RemoteStart order);
    RemoteProcess(const RemoteProcess&) = delete;
    RemoteProcess& operator=(const RemoteProcess&) = delete;

    RemoteConnection& connection() const { return there_.connection(); }

    // Was its start sent over the connection with this serial? 0: it was not sent yet.
    bool was_sent_over(std::uint64_t serial) const { return there_.was_sent_over(serial); }

    RemoteOutput& output() { return output_; }

    const RemoteOutput& output() const { return output_; }

    // As the server there told when it started the program, and when that ended.
    SandboxState sandbox_state() const;

    // The server is ready. It may be another one than when the call was planned.
    std::optional<Error> hindrance() const;
    void send_start();

    // As the functions of Backend of the same names.
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

    // Answers of the server there. The process may be gone after that to its start. The first one
    // returns what is wrong with it, or an empty text.
    std::string on_started(const protocol::Message& answer);
    void on_written(const protocol::Message& answer);
    void on_terminated(const protocol::Message& answer);

    // The server does not answer to the start. The process is gone after this.
    void give_up_start(Error error);

    // The connection is lost. The process may be gone after this.
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
    bool is_writing_ = false; // input was sent and not accepted yet
};

} // namespace ew::server
