#include "server/environment/remote_handle.h"

#include "protocol/process.h"
#include "protocol/process_output.h"

#include <fmt/format.h>

#include <utility>

namespace ew::server {

using Kind = PendingRequest::Kind;

void RemoteHandle::read(std::uint64_t after, TimePoint deadline) {
    protocol::ReadParams params;
    params.process_id = id();
    params.after_seq = after;
    connection_.send("process/read", params, {Kind::read, process_, {}, deadline});
}

void RemoteHandle::write(std::string_view bytes) {
    protocol::WriteParams params;
    params.process_id = id();
    params.chunk.bytes = bytes;
    params.write_id = std::to_string(++writes_);
    connection_.send("process/write", params, {Kind::write, process_});
}

void RemoteHandle::close_input() {
    connection_.send("process/closeStdin", protocol::CloseStdinParams{id()}, {});
}

void RemoteHandle::interrupt() {
    connection_.send("process/signal", protocol::SignalParams{id()}, {});
}

void RemoteHandle::terminate(std::uint64_t grace_ms, std::optional<TimePoint> deadline) {
    protocol::TerminateParams params;
    params.process_id = id();
    if (grace_ms > 0) params.grace_ms = grace_ms;
    connection_.send("process/terminate", params, {Kind::terminate, process_, {}, deadline});
}

void RemoteHandle::end() {
    connection_.send("process/terminate", protocol::TerminateParams{id(), {}}, {});
}

template <class Params>
void RemoteHandle::forward(Reply reply, std::string_view method, const Params& params,
                           TimePoint deadline) {
    if (!connection_.has_room_for_requests())
        return reply.fail({ErrorKind::limit,
                           fmt::format("{} requests wait for the server of '{}' already",
                                       RemoteConnection::most_requests, connection_.settings().id),
                           "wait for answers before sending more"});
    PendingRequest request = {Kind::forwarded, process_, std::move(reply), deadline};
    connection_.send(method, params, std::move(request));
}

void RemoteHandle::signal(Reply reply, const protocol::SignalParams& params, TimePoint deadline) {
    protocol::SignalParams there = params;
    there.process_id = id();
    forward(std::move(reply), "process/signal", there, deadline);
}

void RemoteHandle::resize(Reply reply, const protocol::WindowSize& size, TimePoint deadline) {
    forward(std::move(reply), "process/resize", protocol::ResizeParams{id(), size}, deadline);
}

} // namespace ew::server
