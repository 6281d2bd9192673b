// A program as its remote server knows it: its remote id, and the requests about it. They are sent
// only over the connection that carried its start.
#pragma once

#include "base/clock.h"
#include "protocol/process_start.h"
#include "server/connection/reply.h"
#include "server/environment/remote_connection.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::protocol {
struct SignalParams;
struct WindowSize;
}

namespace ew::server {

class RemoteHandle {
public:
    // `process`: its serial number. This is also the remote id, because it is never used twice; a
    // server keeps ids for a while.
    RemoteHandle(RemoteConnection& connection, std::uint64_t process)
        : connection_(connection), process_(process) {}

    RemoteConnection& connection() const { return connection_; }

    std::string id() const { return std::to_string(process_); }

    // Returns true if requests about the program can be sent.
    bool is_reached() const {
        return was_sent_over(connection_.serial()) && connection_.is_ready();
    }

    // Returns true if its start was sent over the connection with this serial number. 0: not sent
    // yet.
    bool was_sent_over(std::uint64_t serial) const { return sent_over_ == serial; }

    // `start`: the params of process/start.
    template <class Params>
    void start(const Params& start, TimePoint deadline) {
        sent_over_ = connection_.serial();
        connection_.send("process/start", start,
                         {PendingRequest::Kind::start, process_, {}, deadline});
    }

    void read(std::uint64_t after, TimePoint deadline);
    void write(std::string_view bytes);
    void close_input();
    void interrupt();
    void terminate(std::uint64_t grace_ms, std::optional<TimePoint> deadline);

    // Ends the program, and ignores the answer.
    void end();

    // Forwards a request of a client, which gets the answer.
    void signal(Reply reply, const protocol::SignalParams& params, TimePoint deadline);
    void resize(Reply reply, const protocol::WindowSize& size, TimePoint deadline);

private:
    template <class Params>
    void forward(Reply reply, std::string_view method, const Params& params, TimePoint deadline);

    RemoteConnection& connection_;
    std::uint64_t process_;
    std::uint64_t sent_over_ = 0;
    std::uint64_t writes_ = 0; // writes that were sent
};

} // namespace ew::server
