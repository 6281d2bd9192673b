// Denials for the refusals of a supervisor: the rule that refuses, and the one line that would
// allow it.
#pragma once

#include "sandbox/gateway/gateway.h"
#include "sandbox/supervise/call_errands.h"
#include "sandbox/supervise/denials.h"
#include "sandbox/supervise/file_changes.h"
#include "sandbox/supervise/socket_file.h"
#include "sandbox/supervise/waiting_call.h"

#include <optional>
#include <string>
#include <string_view>

namespace ew::sandbox {

Denial internet_denial(const WaitingCall& call);

// The same for a network by host: of a service of the machine's loopback, or of a socket that is no
// stream.
Denial no_host_denial(const WaitingCall& call);

Denial host_denial(const HostRefusal& refusal);

Denial datagram_denial(const Caller& caller, bool is_pair);

// Returns nullopt if nothing was refused, or only a path of is_tried_in_passing().
std::optional<Denial> socket_denial(const CallErrands::Finished& errand,
                                    const ConnectResult& result, const std::string& home);

// Without pid and program. `home` is the home directory, which no denial offers to open.
Denial file_denial(const FileChange& change, const std::string& path, FileVerdict verdict,
                   const std::string& home);

// A change of git's settings that was not carried out (aftermath/settings_change.h).
Denial settings_denial(const CallErrands::Finished& errand, const std::string& reason);

// Is it a socket file that the C library and others only try, and do without? Then the refusal is
// no denial.
bool is_tried_in_passing(std::string_view path);

} // namespace ew::sandbox
