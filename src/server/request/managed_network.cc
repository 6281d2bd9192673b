#include "server/request/managed_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

namespace {

constexpr std::string_view origin = "networkProxy";
constexpr std::string_view domains_member = "networkProxy.proxy.domains";

Result<void> add_rule(std::vector<core::HostRule>& rules, std::string_view host,
                      core::Decision decision) {
    core::HostRule rule = TRY(core::host_rule(host, true));
    // A block of addresses is no pattern of Codex's, which compares texts.
    if (rule.prefix && host.find('/') != std::string_view::npos)
        return Error{ErrorKind::invalid_params, "a block of addresses is no name of a host"};
    rule.decision = decision;
    rule.layer = core::RuleLayer::session;
    rule.origin = origin;
    rules.push_back(std::move(rule));
    return {};
}

// "NAME" and "*.NAME" have our meaning; "**.NAME" is both; "*" allows every host, and denies none.
Result<void> add_pattern(std::vector<core::HostRule>& rules, std::string_view pattern,
                         core::Decision decision) {
    if (pattern == "*" && decision == core::Decision::allow) {
        for (core::HostRule& rule : core::observing_rules(origin))
            rules.push_back(std::move(rule));
        return {};
    }
    if (pattern == "*")
        return Error{ErrorKind::invalid_params, "all hosts cannot be denied; list those allowed"};
    if (!pattern.starts_with("**.")) return add_rule(rules, pattern, decision);
    TRY(add_rule(rules, pattern.substr(3), decision));
    return add_rule(rules, pattern.substr(1), decision);
}

Result<std::vector<core::HostRule>> rules_of_domains(const protocol::StringMap& domains) {
    std::vector<core::HostRule> rules;
    for (const auto& [pattern, permission] : domains) {
        if (permission == "none") continue;
        if (permission != "allow" && permission != "deny")
            return no_managed_network(std::string(domains_member),
                                      "a permission is allow, deny or none");
        const core::Decision decision =
            permission == "allow" ? core::Decision::allow : core::Decision::forbidden;
        if (Result<void> added = add_pattern(rules, pattern, decision); !added)
            return no_managed_network(std::string(domains_member), added.error().message);
    }
    return rules;
}

} // namespace

Error no_managed_network(std::string member, std::string_view why) {
    return {
        ErrorKind::sandbox_unavailable,
        fmt::format("the process was not started: {} cannot be kept: {}", member, why),
        "a sandbox whose network is \"hosts\", with allowHosts, reaches the hosts that it names",
        std::move(member)};
}

Error refusal_of_managed_network() {
    return no_managed_network("managedNetwork",
                              "a sandbox with a network by host reaches no port of this machine");
}

Result<std::vector<core::HostRule>>
rules_of_network_proxy(const protocol::NetworkProxyRequest& request) {
    const protocol::NetworkProxySettings& proxy = request.proxy;
    if (!proxy.enabled)
        return no_managed_network("networkProxy.proxy.enabled",
                                  "a proxy that is off allows nothing");
    if (proxy.mode != "full")
        return no_managed_network("networkProxy.proxy.mode", "methods of HTTP are not looked at");
    if (proxy.allow_all_unix_sockets)
        return no_managed_network("networkProxy.proxy.dangerouslyAllowAllUnixSockets",
                                  "socket files are the sandbox's");
    const auto is_allowed = [](const auto& socket) { return socket.second != "none"; };
    if (proxy.unix_sockets && std::ranges::any_of(*proxy.unix_sockets, is_allowed))
        return no_managed_network("networkProxy.proxy.unixSockets",
                                  "socket files are the sandbox's");
    return rules_of_domains(proxy.domains.value_or(protocol::StringMap()));
}

} // namespace ew::server
