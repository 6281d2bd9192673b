// Asks a person about the hosts of processes that process/start has started.
#pragma once

#include "protocol/process_start.h"
#include "server/process/process.h"
#include "server/request/sandbox_request.h"

#include <string>

namespace ew::server {

class HostAttendant {
public:
    HostAttendant() = default;
    HostAttendant(const HostAttendant&) = delete;
    HostAttendant& operator=(const HostAttendant&) = delete;

    // Before the start of a process whose network is by host: adds the rules that count for it.
    // `has_proxy`: its start has networkProxy.
    virtual void prepare(SandboxOrder& order, bool has_proxy) = 0;

    // After its launch, and before its program runs: it asks from now on. `call_id`: of the start.
    // `proxy`: its networkProxy; null: it has none.
    virtual void attend(Process& process, const std::string& call_id,
                        const protocol::NetworkProxyRequest* proxy) = 0;

protected:
    ~HostAttendant() = default;
};

} // namespace ew::server
