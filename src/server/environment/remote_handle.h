// A program as the server in its environment knows it: its id there, and the requests about it.
// They reach it over the connection that has brought its start, and over no other.
#pragma once

#include "base/clock.h"
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
    // `process`: its serial. As it is never used twice it makes the id there; a server keeps ids
    // for a while.
    RemoteHandle(RemoteConnection& connection, std::uint64_t process)
        : connection_(connection), process_(process) {}

    RemoteConnection& connection() const { return connection_; }

    std::string id() const { return std::to_string(process_); }

    // Can the server be asked about it?
    bool is_reached() const {
        return was_sent_over(connection_.serial()) && connection_.is_ready();
    }

    // Was its start sent over the connection with this serial? 0: it was not sent yet.
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

    // Ends it whatever the answer is.
    void end();

    // For a client, which gets the answer.
    void signal(Reply reply, const protocol::SignalParams& params, TimePoint deadline);
    void resize(Reply reply, const protocol::WindowSize& size, TimePoint deadline);

private:
    template <class Params>
    void forward(Reply reply, std::string_view method, const Params& params, TimePoint deadline);

    RemoteConnection& connection_;
    std::uint64_t process_;
    std::uint64_t sent_over_ = 0;
    std::uint64_t writes_ = 0; // that were sent
};

} // namespace ew::server
