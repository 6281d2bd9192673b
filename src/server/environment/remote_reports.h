// What the messages of a server in another environment mean for a process here. Pure.
#pragma once

#include "base/error.h"
#include "core/output/output_log.h"
#include "protocol/process.h"
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

// The number that is all of this text. Returns nullopt if it is none.
std::optional<std::uint64_t> number_in(std::string_view text);

// "its `what` cannot be read: …"
std::string cannot_read(std::string_view what, const Error& error);

core::Stream stream_of(protocol::StreamName name);

// Why `program` could not be started, from an answer that is an error, as exec/command says it.
Error start_error(const std::string& program, const protocol::Message& answer);

// The confinement that the server says it has made for this order.
protocol::Confinement confinement_told(const peer::PeerStarted& started, const RemoteStart& order);

// Returns an error if that is less than what the order requires.
std::optional<Error> confinement_error(const protocol::Confinement& told, const RemoteStart& order);

// `end` is fit to show.
Exit exit_told(const peer::PeerEnd& end, std::uint64_t wall_ms, bool asked_for_sandbox);

} // namespace ew::server
