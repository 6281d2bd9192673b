// The events of a connection to a remote server: see RemoteReceiver.
#pragma once

#include "base/error.h"

#include <cstdint>
#include <string>

namespace ew::protocol {
struct Message;
}

namespace ew::server {

class RemoteConnection;
struct PendingRequest;

class ConnectionListener {
public:
    ConnectionListener() = default;
    virtual ~ConnectionListener() = default;
    ConnectionListener(const ConnectionListener&) = delete;
    ConnectionListener& operator=(const ConnectionListener&) = delete;

    virtual void on_ready(RemoteConnection& connection) = 0;

    // The connection failed before it was ready, or was lost after it was ready. `serial`: the
    // serial number that it had.
    virtual void on_failed(RemoteConnection& connection, std::uint64_t serial,
                           const Error& error) = 0;
    virtual void on_lost(RemoteConnection& connection, std::uint64_t serial,
                         const Error& error) = 0;

    // The connection was held up and may go on, unless the listener calls hold_up() now.
    virtual void on_room(RemoteConnection& connection) = 0;

    // Answers to requests about processes, and notifications. Both functions return what is wrong
    // with the message, or an empty text.
    virtual std::string on_answer(RemoteConnection& connection, const PendingRequest& request,
                                  const protocol::Message& message) = 0;
    virtual std::string on_notification(RemoteConnection& connection,
                                        const protocol::Message& message) = 0;

    // The deadline of a request about a process has passed.
    virtual void on_unanswered(const PendingRequest& request, const Error& error) = 0;
};

} // namespace ew::server
