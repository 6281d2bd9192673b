// The requests process/*, for processes in all environments.
#pragma once

#include "protocol/process.h"
#include "protocol/process_output.h"
#include "protocol/process_start.h"
#include "server/connection/reply.h"
#include "server/process/host_attendant.h"
#include "server/process/process_service.h"
#include "server/process/screen_requests.h"
#include "server/request/sandbox_request.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace ew::server {

class ProcessRequests {
public:
    static constexpr std::size_t most_waiting = 4096; // reads, held writes, parked requests

    // `processes` outlives this, and requests are handled only while this exists.
    ProcessRequests(ProcessService& processes, ServerSide side)
        : processes_(processes),
          table_(processes.table()),
          side_(std::move(side)),
          screens_(processes.table(), processes.outbox()) {
        processes.set_parked_handler(
            [this](std::vector<Parked> parked) { handle_parked(std::move(parked)); });
    }

    ~ProcessRequests() = default;
    ProcessRequests(const ProcessRequests&) = delete;
    ProcessRequests& operator=(const ProcessRequests&) = delete;

    void set_side(ServerSide side) { side_ = std::move(side); }

    // It outlives this. Set before the first request.
    void set_host_attendant(HostAttendant& attendant) { attendant_ = &attendant; }

    void handle(Reply reply, protocol::StartParams params);
    void handle(Reply reply, protocol::ReadParams params);
    void handle(Reply reply, protocol::WriteParams params);
    void handle(Reply reply, protocol::CloseStdinParams params);
    void handle(Reply reply, protocol::SignalParams params);
    void handle(Reply reply, const protocol::TerminateParams& params);
    void handle(Reply reply, protocol::ResizeParams params);
    void handle(Reply reply, protocol::ScreenParams params);
    void handle(Reply reply, protocol::CastParams params);
    void list(Reply reply);

    // Answers a waiting request with "cancelled". The process continues, unless the request is its
    // start. Returns false if the request does not wait here.
    bool cancel(const json::Id& id);

    // Answers requests that still need more turns with `error`.
    void abandon(const Error& error) { screens_.abandon(error); }

    // Goes on with requests that need more than one turn.
    void on_time() { screens_.on_time(); }

    std::optional<TimePoint> next_deadline() const;

private:
    void handle_parked(std::vector<Parked> parked);
    template <class Params>
    bool park_if_starting(Process* process, Reply& reply, Params& params);
    bool refuse_if_too_many_wait(Reply& reply);
    std::size_t waiting_count();
    bool cancel_in(Process& process, const json::Id& id);

    ProcessService& processes_;
    ProcessTable& table_;
    ServerSide side_;
    ScreenRequests screens_;
    HostAttendant* attendant_ = nullptr;
};

} // namespace ew::server
