// Calls of exec/command whose environment is being connected. What is to run there depends on the
// server there, so nothing of them is decided yet.
#pragma once

#include "base/error.h"
#include "json/types.h"
#include "protocol/exec.h"
#include "server/connection/reply.h"
#include "server/environment/remote_backend.h"
#include "server/session/environment_choice.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ew::server {

// A call that waits, or that goes on now.
struct QueuedCall {
    Reply reply;
    protocol::ExecCommandParams params;
    std::string environment;
    std::uint64_t connection = 0; // that it has waited for last
    std::size_t tries = 0;        // to connect it
};

class EnvironmentQueue {
public:
    static constexpr std::size_t most_tries = 3; // to connect an environment, for one call

    // The call waits for the connection that its environment is getting. It has tries left.
    void add(QueuedCall call, std::uint64_t connection);

    // The calls that this news affects. A call that waits for a later connection stays.
    std::vector<QueuedCall> take(const RemoteBackend::News& news);

    std::size_t size() const { return calls_.size(); }

    // The request is answered with "cancelled". Returns false if it does not wait here.
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
