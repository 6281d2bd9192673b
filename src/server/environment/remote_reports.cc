#include "server/environment/remote_reports.h"

#include "core/output/utf8.h"
#include "os/signals.h"
#include "peer/peer_messages.h"
#include "protocol/envelope.h"
#include "server/environment/remote_start.h"

#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <utility>

namespace ew::server {

namespace {

int signal_number(const std::optional<std::string>& name) {
    for (int number = 1; name && number < NSIG; ++number)
        if (os::signal_name(number) == *name) return number;
    return 0;
}

// Returns -1 for a code that does not fit: a truncated code could mean success.
int exit_code(std::optional<std::int64_t> code) {
    return code && std::in_range<int>(*code) ? static_cast<int>(*code) : -1;
}

// Returns true if this type on the wire means a sandbox.
bool is_sandbox(std::string_view type) {
    return type == "linuxSeccomp" || type == "macosSeatbelt" || type == "windowsRestrictedToken";
}

} // namespace

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::string cannot_read(std::string_view what, const Error& error) {
    return fmt::format("its {} cannot be read: {}", what, error.message);
}

core::Stream stream_of(protocol::StreamName name) {
    switch (name) {
    case protocol::StreamName::out: return core::Stream::out;
    case protocol::StreamName::err: return core::Stream::err;
    case protocol::StreamName::pty: break;
    }
    return core::Stream::pty;
}

// Codex does not name the program in its errors.
Error start_error(const std::string& program, const protocol::Message& answer) {
    Error error = peer::error_of(answer.params, ErrorKind::spawn_failed);
    error.path = error.path == "cwd" ? "workdir" : "";
    if (error.message.find(program) == std::string::npos)
        error.message =
            fmt::format("cannot start '{}': {}", core::shortened(program), error.message);
    return error;
}

protocol::Confinement confinement_told(const peer::PeerStarted& started, const RemoteStart& order) {
    protocol::Confinement told;
    if (!order.sandbox) return told;
    if (is_sandbox(started.sandbox_type.value_or("none")))
        told.type = protocol::SandboxType::linux_seccomp;
    for (const std::string& guarantee : started.missing)
        told.missing.push_back(peer::shown(guarantee));
    return told;
}

std::optional<Error> confinement_error(const protocol::Confinement& told,
                                       const RemoteStart& order) {
    if (!order.sandbox || order.sandbox->enforcement == protocol::Enforcement::best_effort)
        return std::nullopt;
    const bool is_confined = told.type != protocol::SandboxType::none;
    if (is_confined && told.missing.empty()) return std::nullopt;
    const std::string lacking =
        is_confined ? fmt::format(" (missing: {})", fmt::join(told.missing, ", ")) : "";
    return Error{ErrorKind::sandbox_unavailable,
                 fmt::format("the server of '{}' ran the command without the sandbox that was "
                             "asked for{}; it is ended",
                             order.environment, lacking),
                 "set sandbox for this environment to what its server can do"};
}

Exit exit_told(const peer::PeerEnd& end, std::uint64_t wall_ms, bool asked_for_sandbox) {
    Exit exit;
    exit.code = exit_code(end.exit_code);
    exit.signal = signal_number(end.signal);
    exit.is_usage_known = end.usage.has_value();
    exit.usage.wall_ms = wall_ms;
    if (end.usage) exit.usage = *end.usage;
    exit.limit_hits = end.limit_hits;
    if (!asked_for_sandbox) return exit;
    exit.sandbox_hint = end.sandbox_hint;
    if (end.sandbox_denied && !exit.sandbox_hint && end.denials.empty())
        exit.sandbox_hint = "the server there thinks that the sandbox refused something";
    return exit;
}

} // namespace ew::server
