// The environments of the settings, each with its connection. No connection waits for another one.
#pragma once

#include "base/clock.h"
#include "server/connection/source.h"
#include "server/environment/remote_connection.h"

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace ew::server {

class Environments {
public:
    // `open_files`: the limit for programs.
    Environments(const Session& session, os::Poller& poller, ConnectionListener& listener,
                 const rlimit& open_files);
    ~Environments();
    Environments(const Environments&) = delete;
    Environments& operator=(const Environments&) = delete;

    // Returns null if no environment has this id, which then means this machine.
    RemoteConnection* find(std::string_view id) const;

    // Answers a forwarded request of a client with "cancelled". Returns false if the request does
    // not wait here.
    bool cancel(const json::Id& id);

    // Events from the loop. `connection`: the serial number of a connection.
    void on_event(Source source, std::uint64_t connection, TimePoint now);
    void on_reaped(pid_t pid, int status, TimePoint now);
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    // Resumes the connections that were held up. Returns true if one of them could go on.
    bool resume(TimePoint now);

    // The server ends: closes the input of the links, so that the remote servers end too.
    void close_all();

    // The programs of the links, with descendants.
    std::vector<pid_t> programs() const;

private:
    std::unique_ptr<protocol::MessageReader> reader_;
    ConnectionSerials serials_;
    std::vector<std::unique_ptr<RemoteConnection>> connections_; // in the order of the file
};

} // namespace ew::server
