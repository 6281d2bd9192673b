// Runs programs in other environments, as the client of an exec-server there. It is connected when
// it is first needed, and again when it is needed after its connection has ended. No environment
// waits for another one. All that is asked of a server is answered or ends with the connection.
#pragma once

#include "base/clock.h"
#include "os/poller.h"
#include "peer/peer.h"
#include "protocol/envelope.h"
#include "protocol/environment.h"
#include "server/connection/outbox.h"
#include "server/environment/remote_environment.h"
#include "server/environment/remote_process.h"
#include "server/process/backend.h"
#include "server/process/process_service.h"
#include "server/session/session.h"

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::server {

class RemoteBackend final : public Backend {
public:
    static constexpr std::size_t write_size = 256 << 10;    // bytes of input in one request
    static constexpr std::size_t most_requests = 4096;      // of clients, in one environment
    static constexpr std::size_t most_ignored_lines = 1000; // that are no messages, a connection
    // A server that has not taken half so many bytes is given no more to start; one that has not
    // taken all of them is given up.
    static constexpr std::size_t most_unsent = 64 << 20;
    static constexpr std::size_t most_starts = 32; // that wait in one environment
    // What is missing is asked for after this long: most often it is only late.
    static constexpr Millis gap_patience{50};
    // A program that has closed the connection has this long to tell its exit status, and then
    // to end.
    static constexpr Millis status_patience{200};
    // An answer is waited for so long: to the end of a process beside the patience that was asked
    // for, to a signal, to whether it answers at all. A start has as long as the handshake.
    static constexpr Millis answer_patience{5000};

    // `open_files`: the limit that programs get.
    RemoteBackend(const Session& session, ProcessService& processes, os::Poller& poller,
                  Outbox& outbox, const rlimit& open_files);

    // For the exec layer. The server of this configured environment, if it is ready. Null: it is
    // not, and is being connected; what comes of it is news.
    const peer::Peer* connect(std::string_view environment);

    // What the server there, as it was when it was last ready, cannot do of what a start needs.
    std::optional<Error> hindrance(std::string_view environment, bool wants_sandbox);

    const config::Environment& settings(std::string_view environment) {
        return find(environment)->settings;
    }

    // Why it was not connected the last time.
    Error failure(std::string_view environment);

    // The connection that it has, or is getting.
    std::uint64_t connection(std::string_view environment) { return find(environment)->connection; }

    struct News {
        std::string environment;
        std::uint64_t connection = 0;
        std::optional<Error> failure; // absent: it is ready
    };

    std::vector<News> take_news() { return std::exchange(news_, {}); }

    protocol::EnvironmentListResult list();

    // A request that was passed on is answered with "cancelled". False: it is not here.
    bool cancel(const json::Id& id);

    // Backend
    Result<void> begin(Process& process, std::optional<SandboxOrder> sandbox) override;

    void look_at_start(Process& /*process*/) override {}

    void call_off_start(Process& process) override;
    void write_input(Process& process) override;
    void end_input(Process& process) override;
    void signal(Process& process, Reply reply, const protocol::SignalParams& params) override;
    void interrupt(Process& process) override;
    void resize(Process& process, Reply reply, const protocol::WindowSize& size) override;

    void resume_reading(Process& /*process*/) override {} // see resume()

    bool may_tell_exit(const Process& /*process*/) const override { return true; }

    void end_silent_streams(Process& /*process*/) override {}

    SandboxState sandbox_state(const Process& process) const override;

    pid_t pid(const Process& /*process*/) const override { return 0; }

    std::optional<std::string> environment(const Process& process) const override;
    bool has_left_overs(Process& process) override;
    void begin_ending(Process& process, std::uint64_t grace_ms) override;

    void refresh() override {}

    std::vector<std::int64_t> descendants(const Process& /*process*/) override { return {}; }

    void check_timers(Process& process) override;
    std::optional<TimePoint> next_deadline(const Process& process) const override;

    // What the loop found.
    void on_start_report(std::uint64_t connection);
    void on_output(std::uint64_t connection);
    void on_error_text(std::uint64_t connection);
    void on_input_room(std::uint64_t connection);
    void on_reaped(pid_t pid, int status);
    void on_time();
    std::optional<TimePoint> next_deadline() const;

    // Goes on with what was held up because the client did not read. True: some of it could go on.
    bool resume();

    // The server ends: the other ones are told, by the end of their input.
    void close_all();

    // What leads to them, with descendants.
    std::vector<pid_t> programs() const;

private:
    // connections
    RemoteEnvironment* find(std::string_view id);
    RemoteEnvironment* find(std::uint64_t connection);
    RemoteEnvironment& of(const Process& process);
    bool reaches(const Process& process);
    void start(RemoteEnvironment& environment);
    void handshake(RemoteEnvironment& environment);
    void lose(RemoteEnvironment& environment, std::string trouble);
    void finish_losing(RemoteEnvironment& environment);
    void fail_what_waits(const RemoteEnvironment& environment, const Error& error);
    void fail_requests(RemoteEnvironment& environment, const Error& error);
    void lose_processes(std::uint64_t connection, const Error& error);
    std::vector<std::uint64_t> processes_over(std::uint64_t connection); // 0: not sent yet
    void check(RemoteEnvironment& environment);
    void check_ready(RemoteEnvironment& environment);
    void expire_requests(RemoteEnvironment& environment);
    bool expire(RemoteEnvironment& environment, RemoteRequest& request);
    void handle_frames(RemoteEnvironment& environment);
    std::string handle_frame(RemoteEnvironment& environment, const protocol::Frame& frame);
    std::string ignore_line(RemoteEnvironment& environment, const protocol::Frame& frame);

    // processes
    std::optional<Error> hindrance_of(const Process& process);
    void send_start(RemoteEnvironment& environment, Process& process);
    void send_terminate(Process& process, std::uint64_t grace_ms);
    void end_there(RemoteEnvironment& environment, std::uint64_t serial);
    template <class Params>
    void forward(Process& process, Reply reply, std::string_view method, const Params& params);
    void drain(Process& process);
    bool drain_all(Process& process);
    bool drain_events(Process& process);
    bool drain_one(Process& process, peer::Event& event);
    void note_end(Process& process, peer::PeerEnd end);
    void note_loss(Process& process);
    void end_ending(Process& process, const Error& loss);
    void give_up_ending(Process& process);
    void tell_lost_output(Process& process);
    void read_gap(Process& process);
    void give_up_gap(Process& process);
    void await_end(Process& process);
    void postpone_missing_end(Process& process);
    void miss_end(Process& process);
    void lose_process(Process& process);

    // what the server there says
    std::string on_response(RemoteEnvironment& environment, const protocol::Message& message);
    std::string on_initialized(RemoteEnvironment& environment, const protocol::Message& message);
    std::string on_started(RemoteEnvironment& environment, std::uint64_t serial,
                           const protocol::Message& message);
    std::optional<Error> confinement_error(Process& process, const peer::PeerStarted& started);
    void on_forwarded(Reply reply, const protocol::Message& message);
    void on_written(Process& process, const protocol::Message& message);
    std::string on_read(Process& process, const protocol::Message& message);
    void on_terminated(Process& process, const protocol::Message& message);
    std::string on_notification(RemoteEnvironment& environment, const protocol::Message& message);
    Process* find_there(const RemoteEnvironment& environment, std::string_view id);

    const Session& session_;
    ProcessService& processes_;
    os::Poller& poller_;
    Outbox& outbox_;
    std::vector<std::unique_ptr<RemoteEnvironment>> environments_; // in the order of the file
    std::vector<News> news_;
    protocol::MessageReader reader_;
    rlimit open_files_;
    std::uint64_t last_connection_ = 0;
};

} // namespace ew::server
