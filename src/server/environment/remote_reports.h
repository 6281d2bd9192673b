// Translates the messages of a remote server about a process into the types of this server. Pure.
#pragma once

#include "base/error.h"
#include "core/output/output_log.h"
#include "protocol/process_output.h"
#include "protocol/sandbox.h"
#include "server/process/process.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::peer {
struct PeerEnd;
struct PeerStarted;
}

namespace ew::protocol {
struct Message;
}

namespace ew::server {

struct RemoteStart;

// Returns the number if the whole text is one. Returns nullopt otherwise.
std::optional<std::uint64_t> number_in(std::string_view text);

// "its `what` cannot be read: …"
std::string cannot_read(std::string_view what, const Error& error);

core::Stream stream_of(protocol::StreamName name);

// Returns the error of exec/command for `program` from an error answer to its start.
Error start_error(const std::string& program, const protocol::Message& answer);

// The confinement that the server reports for this order.
protocol::Confinement confinement_told(const peer::PeerStarted& started, const RemoteStart& order);

// Returns an error if `told` is less than the order requires.
std::optional<Error> confinement_error(const protocol::Confinement& told, const RemoteStart& order);

// Requires that `end` is fit to show.
Exit exit_told(const peer::PeerEnd& end, std::uint64_t wall_ms, bool asked_for_sandbox);

} // namespace ew::server
