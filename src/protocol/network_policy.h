// The request network/policyRequest of Codex's protocol, by which a server asks its client about a
// connection (codex exec-server 0.171 sends it for processes with networkProxy).
#pragma once

#include "json/types.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::protocol {

enum class NetworkProtocol : std::uint8_t { http, https_connect, socks5_tcp, socks5_udp };

struct NetworkPolicyTarget {
    NetworkProtocol protocol = NetworkProtocol::socks5_tcp;
    std::string host = {};
    std::uint64_t port = 0;
};

template <class Visitor>
void fields(Visitor& visit, NetworkPolicyTarget& target) {
    visit.required("protocol", target.protocol);
    visit.required("host", target.host);
    visit.required("port", target.port);
}

struct NetworkPolicyRequest {
    std::string process_id = {};
    NetworkPolicyTarget request = {};
};

template <class Visitor>
void fields(Visitor& visit, NetworkPolicyRequest& request) {
    visit.required("processId", request.process_id);
    visit.required("request", request.request);
}

enum class NetworkPolicyDecisionType : std::uint8_t { allow, deny, ask };

struct NetworkPolicyDecision {
    NetworkPolicyDecisionType type = NetworkPolicyDecisionType::deny;
    std::optional<std::string> reason = {};
};

template <class Visitor>
void fields(Visitor& visit, NetworkPolicyDecision& decision) {
    visit.required("type", decision.type);
    visit.optional("reason", decision.reason);
}

struct NetworkPolicyAnswer {
    NetworkPolicyDecision decision = {};
};

template <class Visitor>
void fields(Visitor& visit, NetworkPolicyAnswer& answer) {
    visit.required("decision", answer.decision);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::NetworkProtocol> {
    static constexpr std::array<std::string_view, 4> list = {"http", "https_connect", "socks5_tcp",
                                                             "socks5_udp"};
};

template <>
struct Names<protocol::NetworkPolicyDecisionType> {
    static constexpr std::array<std::string_view, 3> list = {"allow", "deny", "ask"};
};

} // namespace ew::json
