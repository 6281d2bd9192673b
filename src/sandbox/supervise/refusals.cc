#include "sandbox/supervise/refusals.h"

#include "core/text/display.h"
#include "sandbox/policy/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace ew::sandbox {

namespace {

using Refusal = ConnectResult::Refusal;

constexpr std::uint16_t dns_port = 53;

Denial call_denial(DenialKind kind, std::string operation, const Caller& caller,
                   std::string target) {
    Denial denial;
    denial.kind = kind;
    denial.operation = std::move(operation);
    denial.target = std::move(target);
    denial.pid = caller.process;
    return denial;
}

// Returns the one line for the configuration and, in parentheses, for the command line. A person
// copies it, and the program chooses the path: so it is quoted for both, and a path whose text
// could mislead a person gets no line.
std::string allowing_write_to(std::string_view directory) {
    if (directory.empty()) return {};
    const bool is_plain = directory.find_first_of("\n\t") == std::string_view::npos;
    if (!is_plain || core::has_invisible(directory)) return {};
    std::string quoted;
    for (const char letter : directory) {
        if (letter == '"' || letter == '\\') quoted += '\\';
        quoted += letter;
    }
    return fmt::format("writableRoots = [\"{}\"] (--writable {})", quoted,
                       core::shell_quoted({std::string(directory)}));
}

} // namespace

Denial internet_denial(const WaitingCall& call) {
    const std::string address = call.address.text();
    // Programs connect to a name server before they send it the name, so the name is not known.
    Denial denial = call.address.port == dns_port
                        ? call_denial(DenialKind::network, "look up", call.caller,
                                      fmt::format("a name (name server {})", address))
                        : call_denial(DenialKind::network, "connect", call.caller, address);
    denial.program = program_of(call.caller);
    denial.rule = "network: restricted";
    denial.allow = "networkAccess = true (--network)";
    return denial;
}

Denial no_host_denial(const WaitingCall& call) {
    Denial denial = internet_denial(call);
    denial.rule = call.address.is_loopback()
                      ? "network: hosts: loopback is the command's own, not the machine's"
                      : "network: hosts: only TCP, and the sandbox's own name server";
    denial.allow.clear();
    return denial;
}

// The narrowest line that would allow it.
Denial host_denial(const HostRefusal& refusal) {
    Denial denial;
    denial.kind = DenialKind::network;
    denial.operation = "connect";
    denial.target = refusal.there.text();
    denial.pid = refusal.asker.process;
    denial.program = refusal.asker.program;
    denial.rule = fmt::format("network: hosts: {}", refusal.reason);
    if (!refusal.justification.empty()) denial.rule += fmt::format(" ({})", refusal.justification);
    const bool is_for_one = !refusal.there.address || core::is_for_one_host(*refusal.there.address);
    if (!is_for_one) denial.rule = "network: hosts: no connection leads to many hosts";
    if (refusal.can_be_allowed && is_for_one)
        denial.allow = fmt::format("[[network]] host = \"{}\", ports = [{}], decision = \"allow\" "
                                   "(--allow-host {})",
                                   refusal.there.host, refusal.there.port, denial.target);
    return denial;
}

Denial datagram_denial(const Caller& caller, bool is_pair) {
    Denial denial = call_denial(DenialKind::socket, is_pair ? "socketpair" : "socket", caller,
                                "AF_UNIX, datagrams");
    denial.program = program_of(caller);
    denial.rule = "sockets: no datagrams of AF_UNIX, since each could name any socket file";
    return denial;
}

std::optional<Denial> socket_denial(const CallErrands::Finished& errand,
                                    const ConnectResult& result, const std::string& home) {
    const WaitingCall& call = errand.call;
    const std::string& path = result.path.empty() ? call.address.name : result.path;
    if (result.refusal == Refusal::none || is_tried_in_passing(path) ||
        is_tried_in_passing(call.address.name))
        return std::nullopt;
    SocketAddress shown = call.address;
    shown.name = path;
    Denial denial = call_denial(DenialKind::socket, "connect", call.caller, shown.text());
    denial.program = errand.program;
    switch (result.refusal) {
    case Refusal::not_writable:
        denial.rule = "socket files: only those in writable directories";
        denial.allow = allowing_write_to(directory_to_open(denial.operation, denial.target, home));
        break;
    case Refusal::hidden:
        denial.rule = "socket files: the machine's are not shown in the sandbox's own directories";
        break;
    case Refusal::foreign:
        denial.rule = "socket files: in shared temporary directories only the sandbox's own";
        break;
    case Refusal::abstract:
        denial.rule = "abstract sockets: only those on which the sandbox itself listens";
        break;
    case Refusal::other_network:
        denial.rule = "abstract sockets: none by a socket of another network";
        break;
    case Refusal::none:
    case Refusal::unreachable: denial.rule = "socket files: none by way of /proc"; break;
    }
    return denial;
}

Denial file_denial(const FileChange& change, const std::string& path, FileVerdict verdict,
                   const std::string& home) {
    Denial denial;
    denial.kind = DenialKind::file;
    denial.operation = change.operation;
    denial.target = path;
    denial.rule = "file system: read-only here";
    if (verdict != FileVerdict::outside) return denial;
    const std::string directory = directory_to_open(change.operation, path, home);
    denial.allow = allowing_write_to(directory);
    if (directory == path && !denial.allow.empty()) denial.allow += ", once it exists";
    return denial;
}

Denial settings_denial(const CallErrands::Finished& errand, const std::string& reason) {
    Denial denial;
    denial.kind = DenialKind::file;
    denial.operation = "rename";
    denial.target = errand.settings;
    denial.pid = errand.call.caller.process;
    denial.program = errand.program;
    denial.rule = fmt::format("protected paths: {}", reason);
    return denial;
}

bool is_tried_in_passing(std::string_view path) {
    // Users, groups and hosts: the name service caches nscd and sssd, systemd's userdb and
    // resolved, mDNS. Bound in /run, which /var/run leads to.
    static constexpr std::array<std::string_view, 8> places = {"/run/nscd/",
                                                               "/run/avahi-daemon/",
                                                               "/run/systemd/userdb/",
                                                               "/run/systemd/resolve",
                                                               "/run/systemd/journal/",
                                                               "/var/lib/sss/pipes/",
                                                               "/run/unscd/",
                                                               "/run/nslcd/"};
    if (path.starts_with("/var/run/")) path.remove_prefix(std::string_view("/var").size());
    return std::any_of(places.begin(), places.end(),
                       [&](std::string_view place) { return path.starts_with(place); });
}

} // namespace ew::sandbox
