// The Model Context Protocol as a dialect of execward's own: translates what an MCP client sends
// into requests for the server, and what the server says into messages for the client. Pure: the
// owner moves the texts and tells the time.
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "mcp/answers.h"
#include "mcp/calls.h"
#include "mcp/resources.h"
#include "mcp/roots.h"
#include "mcp/wires.h"
#include "protocol/envelope.h"
#include "protocol/settings.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::mcp {

struct DialectSetup {
    std::string version = {};                  // of execward
    std::optional<std::string> workspace = {}; // set: the roots of the client do not count
    std::string secret = {};                   // random bytes that only this process has
    Roots::IsDirectory is_directory = {};
};

class Dialect {
public:
    // How many messages may wait for the session to begin, and their size.
    static constexpr std::size_t most_waiting = 1'024;
    static constexpr std::size_t most_waiting_bytes = 64 << 20;

    explicit Dialect(DialectSetup setup);

    // One message of the client. `text` must be followed by ByteBuffer::padding readable bytes.
    void from_client(std::string_view text, TimePoint now);

    // The client has sent something that is no message.
    void refuse(const Error& error);

    // The server has a session, with these settings.
    void open(const protocol::Settings& settings, TimePoint now);

    // Returns true if exec/end is worth its price.
    bool wants_ends() const { return resources_.wants_changes(); }

    // One message of the server, with the same padding.
    void from_server(std::string_view text, TimePoint now);

    void on_time(TimePoint now, Reader reader);
    std::optional<TimePoint> next_deadline() const;

    Wires& wires() { return wires_; }

private:
    enum class Phase : std::uint8_t {
        closed,  // the server has no session yet
        opening, // the server was asked for one
        open,
    };

    // What is known of a legacy client.
    struct Legacy {
        std::string version = {};
        bool can_ask = false;
        bool has_roots = false;
    };

    void take(const protocol::Message& message, TimePoint now);
    void take_request(const protocol::Message& message, TimePoint now);
    void take_notification(const protocol::Message& message, TimePoint now);
    void take_response(const protocol::Message& message, TimePoint now);
    bool must_wait(const protocol::Message& message) const;
    std::optional<Asked> asked_by(const protocol::Message& message);

    void open_session(const protocol::Message& message);
    void on_session_answer(const protocol::Message& answer);
    void go_on(TimePoint now);
    bool may_wait() const;
    void keep_waiting();
    void refuse_waiting(std::string_view why);

    bool note_client(const protocol::Message& message);
    void initialize(const Asked& asked);
    void discover(const Asked& asked);
    void call_tool(Asked asked, const protocol::Message& message, TimePoint now);
    void ask_for_roots(TimePoint now);
    void take_roots(const protocol::Message& message, TimePoint now);
    void on_server_notification(const protocol::Message& message);

    DialectSetup setup_;
    Wires wires_;
    Answers answers_;
    Calls calls_;
    Resources resources_;
    protocol::MessageReader of_client_;
    protocol::MessageReader of_server_;
    Phase phase_ = Phase::closed;
    std::uint64_t session_request_ = 0;
    std::string instructions_;
    std::optional<Legacy> legacy_;     // set by initialize
    std::vector<std::string> waiting_; // messages, until the session or the roots are there
    std::string_view text_;            // the message that is being read
    Roots roots_;
};

} // namespace ew::mcp
