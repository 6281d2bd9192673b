// Calls of exec/command that wait until their environment is connected. Their command depends on
// the server there, so nothing about them is decided yet.
#pragma once

#include "base/error.h"
#include "json/types.h"
#include "protocol/exec.h"
#include "protocol/exec_list.h"
#include "server/connection/reply.h"
#include "server/environment/remote_backend.h"
#include "server/session/environment_choice.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ew::server {

// A call that waits, or continues now.
struct QueuedCall {
    Reply reply;
    protocol::ExecCommandParams params;
    std::string environment;
    std::uint64_t connection = 0; // the last one that it waited for
    std::size_t tries = 0;        // connection attempts
};

class EnvironmentQueue {
public:
    static constexpr std::size_t most_tries = 3; // connection attempts for one call

    // The call waits for the next connection of its environment. The caller checks `tries`.
    void add(QueuedCall call, std::uint64_t connection);

    // Removes and returns the calls that this news affects. A call that waits for a later
    // connection stays.
    std::vector<QueuedCall> take(const RemoteBackend::News& news);

    std::size_t size() const { return calls_.size(); }

    // Answers the request with "cancelled". Returns false if it does not wait here.
    bool cancel(const json::Id& request);

    // Ends the calls for these environments.
    void end(const EnvironmentFilter& filter);

    void fail_all(const Error& error);

    // Adds these calls to those that exec/list shows.
    void list(const EnvironmentFilter& filter, std::vector<protocol::ExecCallInfo>& infos) const;

private:
    template <class Predicate>
    std::vector<QueuedCall> take_if(Predicate is_meant);

    std::vector<QueuedCall> calls_;
};

} // namespace ew::server
