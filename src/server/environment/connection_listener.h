// What a connection to the server of an environment tells the rest of execward: see RemoteReceiver.
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

    // It never became ready, or was ready and is lost. `serial`: the one that it had.
    virtual void on_failed(RemoteConnection& connection, std::uint64_t serial,
                           const Error& error) = 0;
    virtual void on_lost(RemoteConnection& connection, std::uint64_t serial,
                         const Error& error) = 0;

    // It was held up, and nothing holds it up any more but for what calls hold_up() now.
    virtual void on_room(RemoteConnection& connection) = 0;

    // Answers to requests about processes, and notifications. They return what is wrong with the
    // message, or an empty text.
    virtual std::string on_answer(RemoteConnection& connection, const PendingRequest& request,
                                  const protocol::Message& message) = 0;
    virtual std::string on_notification(RemoteConnection& connection,
                                        const protocol::Message& message) = 0;

    // The deadline of a request about a process is over.
    virtual void on_unanswered(const PendingRequest& request, const Error& error) = 0;
};

} // namespace ew::server
