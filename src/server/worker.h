// Everything that serves one client after the handshake, and the loop. The worker runs in a process
// of its own (see keeper.h), and only it starts programs.
#pragma once

#include "base/clock.h"
#include "os/poller.h"
#include "protocol/envelope.h"
#include "sandbox/gateway/way_out.h"
#include "server/approval/approval_requests.h"
#include "server/approval/gate.h"
#include "server/approval/questions.h"
#include "server/approval/records.h"
#include "server/connection/connection.h"
#include "server/environment/remote_backend.h"
#include "server/exec/exec_service.h"
#include "server/exec/host_questions.h"
#include "server/fs/file_service.h"
#include "server/lifeline.h"
#include "server/local/local_backend.h"
#include "server/methods.h"
#include "server/patch/patch_service.h"
#include "server/process/process_requests.h"
#include "server/process/process_service.h"
#include "server/server_settings.h"

#include <sys/resource.h>
#include <sys/types.h>

#include <deque>
#include <optional>

namespace ew::server {

class Worker {
public:
    // How long a worker that ends waits for its children to end and for the client to take the
    // rest.
    static constexpr Millis ending_time{1000};
    // The part of ending_time that requests of fs/* and the servers of environments have before
    // everything is killed.
    static constexpr Millis polite_time{500};
    // How long it waits for what clears up after sandboxes: a busy disk may keep that waiting. The
    // keeper waits longer.
    static constexpr Millis clearing_time{8000};

    // `connection` and `session` outlive the worker. The worker ends when `keeper`, or the process
    // that the client named, ends.
    Worker(const ServerSettings& settings, Connection& connection, Session& session, pid_t keeper);

    // Serves until the end. Returns the exit status.
    int run();

private:
    struct Ending {
        int status = 0;
        TimePoint deadline;
        TimePoint polite_deadline;
        TimePoint clearing_deadline;
        std::optional<TimePoint> kill_again = {};
    };

    void turn();
    void on_time();
    void dispatch(os::Token token);
    void on_signals();

    void read_messages();
    void handle_messages();
    void handle(protocol::Message& message);
    void handle_notification(const protocol::Message& message);
    void handle_answer(const protocol::Message& message);
    bool cancel(const json::Id& request);
    bool holds_hidden_input(const protocol::Message& message);

    void serve_bulk();
    void serve_urgent();
    void finish_turn();

    void begin_ending(int status);
    void continue_ending();
    TimePoint ending_deadline();
    bool is_over();
    std::optional<TimePoint> next_deadline();

    const pid_t keeper_;
    Connection& connection_;
    Outbox& outbox_;
    Session& session_;
    os::Poller poller_;
    os::Poller bulk_poller_;
    Lifeline lifeline_;
    const rlimit open_files_;     // for programs; the worker's own limit is raised
    TimePoint now_ = clock_now(); // the time of this turn of the loop
    sandbox::WayOut way_out_;     // of the sandboxes of the processes
    ProcessService processes_;
    ProcessRequests process_requests_;
    LocalBackend local_;
    FileService files_;
    Records records_;
    Gate gate_;
    ApprovalRequests approvals_;
    Questions questions_;
    RemoteBackend remote_;
    HostQuestions host_questions_;
    ExecService exec_;
    PatchService patches_;
    Methods methods_;
    std::deque<os::Token> bulk_turn_; // flooding streams that were ready and are not served yet
    bool has_room_again_ = false;     // output is waiting and can be sent now
    std::optional<Ending> ending_;
};

} // namespace ew::server
