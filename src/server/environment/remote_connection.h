// The connection to the server of one environment: its link, the handshake, the unanswered
// requests, deadlines, and its end. It starts when it is first needed, and again when it is needed
// after its end. Its listener handles processes.
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "config/config.h"
#include "json/writer.h"
#include "server/connection/source.h"
#include "server/environment/pending_requests.h"

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ew::os {
class Poller;
}

namespace ew::peer {
class Link;
struct Peer;
}

namespace ew::protocol {
struct Frame;
struct Message;
class MessageReader;
}

namespace ew::server {

class ConnectionListener;
class Session;

// Serial numbers for connections; no number is used twice.
class ConnectionSerials {
public:
    std::uint64_t next() { return ++last_; }

private:
    std::uint64_t last_ = 0;
};

class RemoteConnection {
public:
    static constexpr std::size_t most_requests = 4096;      // requests of clients
    static constexpr std::size_t most_ignored_lines = 1000; // lines that are not messages
    // How many bytes may wait for a server. Above half of this, nothing new is started there; above
    // all of it, the connection is given up.
    static constexpr std::size_t most_unsent = 64 << 20;
    // How long a program that has closed the connection may take to report its exit status, and how
    // long it may then take to end.
    static constexpr Millis status_patience{200};
    // How long an answer may take: to the end of a process (beyond the requested grace time), to a
    // signal, and to the probe that asks whether the server answers at all. A start may take as
    // long as the handshake.
    static constexpr Millis answer_patience{5000};

    enum class State : std::uint8_t {
        idle,     // not needed yet
        starting, // until the answer to `initialize`
        ready,
        failed, // did not start, or was lost; starts again when it is needed
        ending, // the program has closed the connection, and may still report why
    };

    // Shared by all connections. `open_files`: the limit for programs.
    struct Parts {
        const Session& session;
        os::Poller& poller;
        protocol::MessageReader& reader;
        ConnectionSerials& serials;
        ConnectionListener& listener;
        rlimit open_files;
    };

    RemoteConnection(config::Environment settings, const Parts& parts);
    ~RemoteConnection();
    RemoteConnection(const RemoteConnection&) = delete;
    RemoteConnection& operator=(const RemoteConnection&) = delete;

    const config::Environment& settings() const { return settings_; }

    State state() const { return state_; }

    bool is_ready() const { return state_ == State::ready; }

    // The serial number of the current connection, which may still be starting. 0: no connection.
    std::uint64_t serial() const { return serial_; }

    // The error of the last failure.
    const std::optional<Error>& failure() const { return failure_; }

    // The server as it was when it was last ready. Returns null if it was never ready.
    const peer::Peer* peer() const { return peer_.get(); }

    // Returns an error if a start needs an ability that the server lacks. Requires that it was
    // ready.
    std::optional<Error> hindrance(bool wants_sandbox) const;

    // Begins to connect, unless the connection is ready or starting.
    void connect(TimePoint now);

    // Requires a link.
    template <class Params>
    void send(std::string_view method, const Params& params, PendingRequest request) {
        const std::uint64_t id = requests_.add(std::move(request));
        ByteBuffer out;
        out.append(std::string_view(R"({"jsonrpc":"2.0","id":)"));
        json::write_number(out, id);
        out.append(std::string_view(R"(,"method":)"));
        json::write_string(out, method);
        out.append(std::string_view(R"(,"params":)"));
        json::write_value(out, params);
        out.append(std::string_view("}\n"));
        send_line(out.view());
    }

    std::size_t unsent() const;

    bool has_room_for_requests() const { return requests_.size() < most_requests; }

    bool cancel(const json::Id& id) { return requests_.cancel(id); }

    // A log has no room for the output that was read. Nothing is read until resume() finds room.
    void hold_up();

    bool is_held_up() const { return is_held_up_; }

    // Returns true if the connection was held up, and is not any more.
    bool resume(TimePoint now);

    // The server ends: closes the input of the link, so that the remote server ends too.
    void close();

    // The pid of the program of the link. Returns nullopt if no program runs.
    std::optional<pid_t> program() const;

    // An event from the loop.
    void on_event(Source source, TimePoint now);
    // Returns true if the pid was the program of the link.
    bool note_reaped(pid_t pid, int status, TimePoint now);
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

private:
    void start(TimePoint now);
    void on_start_report(TimePoint now);
    void on_output(TimePoint now);
    void send_line(std::string_view line);
    void lose(std::string trouble, TimePoint now);
    void finish_losing(TimePoint now);
    void check_ready(TimePoint now);
    void expire_requests(TimePoint now);
    void handle_frames(TimePoint now);
    std::string handle_frame(const protocol::Frame& frame);
    std::string ignore_line(const protocol::Frame& frame);
    std::string on_response(const protocol::Message& message);
    std::string on_initialized(const protocol::Message& message);

    config::Environment settings_;
    Parts parts_;
    State state_ = State::idle;
    std::uint64_t serial_ = 0;
    std::unique_ptr<peer::Link> link_;
    std::unique_ptr<peer::Peer> peer_;
    std::optional<Error> failure_;
    // For starting, for ending, and for a link that takes no input.
    std::optional<TimePoint> deadline_;
    PendingRequests requests_;
    std::size_t ignored_lines_ = 0; // lines that are not messages
    bool is_held_up_ = false;
    bool is_wanted_ = false; // connect again after the connection has ended
    bool was_ready_ = false; // while ending: whether it was ready before
    std::string trouble_;    // why this side ends the connection; empty: the other side ended it
};

} // namespace ew::server
