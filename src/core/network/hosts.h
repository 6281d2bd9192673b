// Names of hosts, and rules about the hosts and ports that a confined program may reach.
#pragma once

#include "base/result.h"
#include "core/judgement/policy_types.h"
#include "core/judgement/rules.h"
#include "core/network/internet.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

constexpr std::size_t longest_host = 253; // bytes of a name without the dot at its end

// Returns the name in lower case without the dot at its end. Returns nullopt for a text that is no
// name of a host: other characters than letters, digits, '-' and '_', an empty or too long label,
// and a last label that is a number, which the C library would read as an address (inet_aton(3)).
std::optional<std::string> host_name(std::string_view text);

struct HostRule {
    std::string host = {}; // "name", "*.name" (all names below it), "*"; or as written: an address
    std::optional<Prefix> prefix = {};     // the host is an address, or the beginning of addresses
    std::vector<std::uint16_t> ports = {}; // empty: every port
    Decision decision = Decision::prompt;
    std::string justification = {};
    RuleLayer layer = RuleLayer::user;
    std::string origin = {}; // the source as a text for a person: "FILE:LINE", "--allow-host"

    bool operator==(const HostRule&) const = default;
};

// The ports of an allow rule that names none.
constexpr std::uint16_t http_port = 80;
constexpr std::uint16_t https_port = 443;

// Reads NAME, *.NAME, an address or a prefix, in canonical form. `allows_every`: "*" is accepted.
// Errors: invalid_params, with what is wrong.
Result<HostRule> host_rule(std::string_view host, bool allows_every);

// Rules that allow every name and every public address: a prefix as wide as these names no private
// one.
std::vector<HostRule> observing_rules(std::string_view origin);

// Reads what --allow-host takes: HOST or HOST:PORT, with an IPv6 address in brackets before a port.
// Errors: invalid_params.
Result<HostRule> allowed_host(std::string_view text);

// Where a program wants to connect. `address` is given if the program named no name.
struct Destination {
    std::string host = {}; // a name, or an address as core::shown() writes it
    std::optional<Internet> address = {};
    std::uint16_t port = 0;

    std::string text() const { return shown(host, port); }
};

bool matches(const HostRule& rule, const Destination& there);

struct HostRuling {
    Decision decision = Decision::prompt;
    const HostRule* rule = nullptr; // which decided; null: no rule matches
};

// Of all matching rules the strictest counts. Allow rules of the system and of a project have no
// effect. Without a matching rule the decision is prompt.
HostRuling rule_on(std::span<const HostRule> rules, const Destination& there);

// The rules as they are for a connection that somebody has allowed when asked about `there`: rules
// that want a question about it are answered, and exactly this host and port is allowed.
std::vector<HostRule> with_answer(std::span<const HostRule> rules, const Destination& there);

// May a connection for `there` go to this address, to which its name leads? `is_own`: it is one of
// the machine's own addresses. Returns an empty text, or why not. An address that is not
// everybody's must be named by an allow rule, whatever a rule says about the name.
std::string refusal_of(std::span<const HostRule> rules, const Destination& there,
                       const Internet& address, bool is_own);

} // namespace ew::core
