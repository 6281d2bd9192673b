// Decides whether a port of loopback belongs to the sandbox or the machine. Without a network a
// program reaches the services of its sandbox, and not those of the machine. Keeps the sockets to
// ask the kernel with, once an errand has made them.
#pragma once

#include "sandbox/supervise/call_errands.h"
#include "sandbox/supervise/port_listeners.h"
#include "sandbox/supervise/waiting_call.h"

#include <optional>

namespace ew::sandbox {

class LoopbackPorts {
public:
    // Does the call want a service of the machine? Returns nullopt if an errand must find out.
    std::optional<bool> wants_machine(const WaitingCall& call);

    // The task of that errand. `listener` is that of the notifications, borrowed. Returns nullopt
    // if there are no more descriptors.
    std::optional<CallErrands::Task> task(const WaitingCall& call, int listener) const;

    // The result of the errand; keeps the look-ups that it has made.
    bool wants_machine(const CallErrands::Finished& errand);

    void forget() { look_ups_ = {}; }

private:
    PortLookUps look_ups_; // empty until an errand has made them
};

} // namespace ew::sandbox
