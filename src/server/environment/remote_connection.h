// The connection to the server of one environment: the program that leads there, the handshake,
// what was asked and not answered, deadlines, and its end. It is begun when it is first needed, and
// again when it is needed after its end. Processes are its listener's.
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

// Numbers connections; no number is used twice.
class ConnectionSerials {
public:
    std::uint64_t next() { return ++last_; }

private:
    std::uint64_t last_ = 0;
};

class RemoteConnection {
public:
    static constexpr std::size_t most_requests = 4096;      // of clients
    static constexpr std::size_t most_ignored_lines = 1000; // that are no messages
    // A server that has not taken half of these bytes is given no more to start; one that has not
    // taken all of them is given up.
    static constexpr std::size_t most_unsent = 64 << 20;
    // How long a program that has closed the connection may take to tell its exit status, and then
    // to end.
    static constexpr Millis status_patience{200};
    // How long an answer may take: to the end of a process beside the patience that was asked for,
    // to a signal, to whether the server answers at all. A start has as long as the handshake.
    static constexpr Millis answer_patience{5000};

    enum class State : std::uint8_t {
        idle,     // it was not needed yet
        starting, // up to the answer to `initialize`
        ready,
        failed, // it could not be started, or was lost; it is tried again when it is needed
        ending, // its program has closed the connection, and may still tell why
    };

    // What all connections use. `open_files`: the limit that programs get.
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

    // Of the connection that it has, or is getting. 0: none.
    std::uint64_t serial() const { return serial_; }

    // Why it failed the last time.
    const std::optional<Error>& failure() const { return failure_; }

    // The server, as it was when it was last ready. Null: it never was.
    const peer::Peer* peer() const { return peer_.get(); }

    // What that server cannot do of what a start needs. It was ready.
    std::optional<Error> hindrance(bool wants_sandbox) const;

    // Begins to connect, unless it is ready or on its way.
    void connect(TimePoint now);

    // It has a link.
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

    // A log has no room for what was read: nothing is read until resume() finds that it has.
    void hold_up();

    bool is_held_up() const { return is_held_up_; }

    // Returns true if it was held up, and is not any more.
    bool resume(TimePoint now);

    // The server ends: the one there is told so, by the end of its input.
    void close();

    // The program that leads there. Returns nullopt if none runs.
    std::optional<pid_t> program() const;

    // What the loop found.
    void on_event(Source source, TimePoint now);
    // Returns true if it was the program that leads there.
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
    std::optional<TimePoint> deadline_; // of starting, of ending, and of a link that takes no input
    PendingRequests requests_;
    std::size_t ignored_lines_ = 0; // that are no messages
    bool is_held_up_ = false;
    bool is_wanted_ = false; // again, once the connection has ended
    bool was_ready_ = false; // while ending
    std::string trouble_;    // why we end the connection; empty: the other side did
};

} // namespace ew::server
