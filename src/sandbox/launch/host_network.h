// The network of a start whose policy is Network::hosts: a namespace of its own in which every
// address is local, so that a listener can stand at any of them (ip-route(8), type local), and
// nothing leads out. The server gets a socket for the resolver, and the namespace, to open
// listeners in it (gateway/gateway.h).
#pragma once

#include "base/unique_fd.h"
#include "sandbox/init/wire.h"

namespace ew::sandbox {

struct HostNetwork {
    UniqueFd datagrams; // bound to port 53 of 127.0.0.1
    UniqueFd network;   // the namespace

    bool exists() const { return datagrams && network; }

    void take(wire::NetworkPart which, UniqueFd descriptor);
};

// For a process with all capabilities in its user namespace. Moves it into a new network and
// reports the parts of it to the server. Errors are reported, and end this process.
void make_host_network();

} // namespace ew::sandbox
