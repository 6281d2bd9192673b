// Owns everything that serves one client; the loop.
#pragma once

#include "base/clock.h"
#include "os/io.h"
#include "os/poller.h"
#include "os/signals.h"
#include "protocol/envelope.h"
#include "protocol/framing.h"
#include "protocol/methods.h"
#include "server/exec_service.h"
#include "server/file_service.h"
#include "server/gate.h"
#include "server/local_backend.h"
#include "server/outbox.h"
#include "server/patch_service.h"
#include "server/process_service.h"
#include "server/remote_backend.h"
#include "server/session.h"

#include <sys/types.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace ew::server {

struct ServerSettings {
    protocol::Framing framing = protocol::Framing::undecided;
    std::optional<pid_t> client_process = {}; // its end ends us
    ProcessSettings processes = {};
    SessionSetup session = {};
    bool has_test_ids = false;
};

class Server {
public:
    // An ending server waits this long for its children to go and for the client to take the rest.
    static constexpr Millis ending_time{1000};
    // Of these, what was asked of fs/* and the servers of other environments have this long before
    // everything is killed.
    static constexpr Millis polite_time{500};

    // `recorder` may be null; it outlives the server.
    Server(ServerSettings settings, os::StdioEnd in, os::StdioEnd out,
           transcript::Recorder* recorder);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Serves until the answer to initialize has been taken by the client; nothing has been started
    // then. An exit status: it ended before that.
    std::optional<int> run_handshake();

    // Serves until the end, as the child that was forked after the handshake. Returns the exit
    // status. `keeper` is watched: its end ends us.
    int run(pid_t keeper);

private:
    struct Ending {
        int status = 0;
        TimePoint deadline;
        TimePoint polite_deadline;
        std::optional<TimePoint> kill_again;
    };

    bool has_answered_handshake() const;
    ProcessSettings process_settings() const;
    LocalSettings local_settings() const;
    ServerSide server_side() const;
    void turn();
    void set_now();
    void on_time();
    void watch_everything();
    void watch_process_end(std::optional<pid_t> process);
    void dispatch(os::Token token);
    void on_signals();

    void read_requests();
    void handle_buffered();
    void handle_frame(const protocol::Frame& frame);
    void handle_request(protocol::Message& message);
    void handle_notification(const protocol::Message& message);
    void handle_response(const protocol::Message& message);

    // What answers the requests of a method. Null: nothing does, its name is reserved.
    using Handler = void (Server::*)(Reply reply, const json::Value* params);
    static Handler handler_of(protocol::Method method);
    template <class Params, auto service>
    void pass_on(Reply reply, const json::Value* params);
    template <auto service>
    void list(Reply reply, const json::Value* params);
    void run_command(Reply reply, const json::Value* params);
    void initialize(Reply reply, const json::Value* params);
    void shut_down(Reply reply, const json::Value* params);
    void configure(Reply reply, const json::Value* params);
    void tell_environment(Reply reply, const json::Value* params);
    void tell_status(Reply reply, const json::Value* params);
    void list_environments(Reply reply, const json::Value* params);

    void serve_bulk();
    void serve_urgent();
    void finish_turn();
    bool must_fork_first() const;
    bool may_read_requests() const;

    void begin_ending(int status);
    void continue_ending();
    bool is_over();
    std::optional<TimePoint> next_deadline();

    ServerSettings settings_;
    os::StdioEnd in_;
    os::Poller poller_;
    os::Poller bulk_poller_;
    os::Signals signals_;
    Outbox outbox_;
    transcript::Recorder* recorder_;
    protocol::Deframer deframer_;
    protocol::MessageReader reader_;
    Session session_;
    // These exist in the worker.
    std::unique_ptr<ProcessService> processes_;
    std::unique_ptr<LocalBackend> local_;
    std::unique_ptr<RemoteBackend> remote_;
    std::unique_ptr<FileService> files_;
    std::unique_ptr<Gate> gate_;
    std::unique_ptr<ExecService> exec_;
    std::unique_ptr<PatchService> patches_;
    std::deque<os::Token> bulk_turn_;         // flooding streams that were ready and not served yet
    std::vector<UniqueFd> watched_processes_; // pidfds of those whose end ends us
    bool input_is_watchable_ = true;          // else it is always ready
    bool input_is_watched_ = false;
    bool output_is_watchable_ = true; // else writing never blocks
    bool output_is_watched_ = false;
    bool has_input_ended_ = false;
    bool has_buffered_requests_ = false; // read, and waiting for room for their answers
    bool has_room_again_ = false;        // output is waiting and could go now
    TimePoint now_;
    std::optional<Ending> ending_;
};

} // namespace ew::server
