// Sockets of a sandbox's network on which the gateway takes connections.
#pragma once

#include "base/unique_fd.h"
#include "core/network/internet.h"

#include <cstdint>
#include <utility>

namespace ew::sandbox {

using Place = std::pair<core::Internet, std::uint16_t>;

// Makes a fresh socket listen at that place and returns it, or an empty one. If a program listens
// on that port of all addresses, it takes another port of this one, and changes `port`. `is_held`:
// see hold().
UniqueFd listener_at(UniqueFd socket, const Place& place, std::uint16_t& port, bool is_held);

// The kernel drops what is sent to the listener: whoever connects waits, and finds out nothing. It
// sends its first packet again and again, as often as the sandbox's network says (tcp(7),
// tcp_syn_retries).
bool hold(int listener);

// The kernel takes connections again: those that waited at their next packet.
void release(int listener);

// Connects a fresh socket from the place of a listener to a caller that waits for it. Both ends
// then open the connection at once (RFC 9293, 3.5, simultaneous open), which saves the caller the
// time until its next packet. The connection may still be under way. Returns false if the caller
// does not wait there.
bool connect_back(int socket, const Place& listener, const Place& caller);

} // namespace ew::sandbox
