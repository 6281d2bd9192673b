#include "core/network/hosts.h"

#include "core/network/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ew::core {

namespace {

constexpr std::size_t longest_label = 63;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_name_letter(char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

bool is_label(std::string_view label) {
    return !label.empty() && label.size() <= longest_label &&
           std::ranges::all_of(label, is_name_letter);
}

// As inet_aton(3) reads the parts of an address: decimal, octal, or hexadecimal.
bool is_number(std::string_view label) {
    if (label.starts_with("0x")) return true;
    return std::ranges::all_of(label, is_digit);
}

bool can_only_tighten(const HostRule& rule) {
    return rule.layer == RuleLayer::system || rule.layer == RuleLayer::project;
}

int strictness(Decision decision) {
    switch (decision) {
    case Decision::allow: return 0;
    case Decision::prompt: return 1;
    case Decision::forbidden: return 2;
    }
    return 2;
}

Error not_a_host(std::string_view text) {
    return {ErrorKind::invalid_params,
            fmt::format("'{}' is no name of a host, no address and no prefix of addresses", text),
            "write registry.example.org, *.example.org, 192.0.2.7, 192.0.2.0/24 or 2001:db8::1"};
}

std::string_view reach_text(Reach reach) {
    switch (reach) {
    case Reach::everybody: return "public";
    case Reach::loopback: return "the machine itself";
    case Reach::network: return "in a private network";
    case Reach::link: return "link-local or a metadata service";
    case Reach::nobody: return "reserved";
    }
    return "reserved";
}

bool is_port(std::string_view text, std::uint16_t& port) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() && port != 0;
}

} // namespace

std::optional<std::string> host_name(std::string_view text) {
    if (text.ends_with('.')) text.remove_suffix(1);
    if (text.empty() || text.size() > longest_host) return std::nullopt;
    std::string name = in_lower_case(text);
    std::string_view label;
    for (std::size_t begin = 0; begin <= name.size();) {
        const std::size_t end = std::min(name.find('.', begin), name.size());
        label = std::string_view(name).substr(begin, end - begin);
        if (!is_label(label)) return std::nullopt;
        begin = end + 1;
    }
    if (is_number(label)) return std::nullopt;
    return name;
}

Result<HostRule> host_rule(std::string_view host, bool allows_every) {
    HostRule rule;
    if (host == "*" && !allows_every)
        return Error{ErrorKind::invalid_params, "'*' stands for every host",
                     "name the hosts, or add every_host = true to the rule"};
    if (host == "*") {
        rule.host = host;
        return rule;
    }
    rule.prefix = read_prefix(host);
    if (rule.prefix) {
        constexpr unsigned least_ipv4 = 96 + 8;
        constexpr unsigned least_ipv6 = 7;
        if (rule.prefix->bits < (rule.prefix->is_ipv4() ? least_ipv4 : least_ipv6) && !allows_every)
            return Error{ErrorKind::invalid_params,
                         fmt::format("'{}' stands for a great part of all addresses", host),
                         "name a longer prefix, or add every_host = true to the rule"};
        rule.host = host;
        return rule;
    }
    const bool is_below = host.starts_with("*.");
    std::optional<std::string> name = host_name(is_below ? host.substr(2) : host);
    if (!name) return not_a_host(host);
    // "*.org" would open all names of a registry, nearly as many as "*".
    if (is_below && name->find('.') == std::string::npos && !allows_every)
        return Error{ErrorKind::invalid_params,
                     fmt::format("'{}' stands for every host of '{}'", host, *name),
                     "name more of it, or add every_host = true to the rule"};
    rule.host = is_below ? "*." + *name : std::move(*name);
    return rule;
}

std::vector<HostRule> observing_rules(std::string_view origin) {
    std::vector<HostRule> rules;
    for (const char* const host : {"*", "0.0.0.0/0", "::/0"}) {
        HostRule& rule = rules.emplace_back();
        rule.host = host;
        rule.prefix = read_prefix(host);
        rule.decision = Decision::allow;
        rule.layer = RuleLayer::session;
        rule.origin = origin;
    }
    return rules;
}

Result<HostRule> allowed_host(std::string_view text) {
    std::string_view host = text;
    std::uint16_t port = 0;
    const std::size_t colon = text.rfind(':');
    const bool has_brackets = text.starts_with('[');
    const bool is_bare_ipv6 = !has_brackets && std::ranges::count(text, ':') > 1;
    if (colon != std::string_view::npos && !is_bare_ipv6 && !text.ends_with(']')) {
        host = text.substr(0, colon);
        if (!is_port(text.substr(colon + 1), port))
            return Error{ErrorKind::invalid_params,
                         fmt::format("'{}' has no port between 1 and 65535", text)};
    }
    if (has_brackets) {
        if (!host.ends_with(']')) return not_a_host(text);
        host = host.substr(1, host.size() - 2);
        if (host.find(':') == std::string_view::npos)
            return Error{ErrorKind::invalid_params,
                         fmt::format("'{}' has brackets around what is no IPv6 address", text),
                         "write registry.example.org:443, 192.0.2.7:443 or [2001:db8::1]:443"};
    }
    HostRule rule = TRY(host_rule(host, false));
    rule.decision = Decision::allow;
    rule.ports = {http_port, https_port};
    if (port != 0) rule.ports = {port};
    rule.origin = "--allow-host";
    rule.layer = RuleLayer::session;
    return rule;
}

bool matches(const HostRule& rule, const Destination& there) {
    if (!rule.ports.empty() && std::ranges::find(rule.ports, there.port) == rule.ports.end())
        return false;
    if (rule.prefix) return there.address && rule.prefix->has(*there.address);
    // For addresses too if the rule is strict: it must not be evaded by a literal address.
    if (rule.host == "*") return !there.address || rule.decision != Decision::allow;
    if (there.address) return false;
    if (!rule.host.starts_with("*.")) return rule.host == there.host;
    const std::string_view below = std::string_view(rule.host).substr(1);
    return there.host.size() > below.size() && there.host.ends_with(below);
}

HostRuling rule_on(std::span<const HostRule> rules, const Destination& there) {
    HostRuling ruling;
    for (const HostRule& rule : rules) {
        if (rule.decision == Decision::allow && can_only_tighten(rule)) continue;
        if (!matches(rule, there)) continue;
        if (ruling.rule && strictness(rule.decision) <= strictness(ruling.decision)) continue;
        ruling = {rule.decision, &rule};
    }
    return ruling;
}

std::vector<HostRule> with_answer(std::span<const HostRule> rules, const Destination& there) {
    std::vector<HostRule> answered;
    for (const HostRule& rule : rules)
        if (rule.decision != Decision::prompt || !matches(rule, there)) answered.push_back(rule);
    HostRule allowed;
    allowed.host = there.host;
    if (there.address) allowed.prefix = Prefix{*there.address};
    allowed.ports = {there.port};
    allowed.decision = Decision::allow;
    allowed.layer = RuleLayer::session;
    answered.push_back(std::move(allowed));
    return answered;
}

std::string refusal_of(std::span<const HostRule> rules, const Destination& there,
                       const Internet& address, bool is_own) {
    Destination found = there;
    found.host = shown(address);
    found.address = address;
    const HostRuling ruling = rule_on(rules, found);
    // A question about an address cannot be asked once its name was allowed.
    if (ruling.rule && ruling.decision != Decision::allow)
        return fmt::format("a rule ({}) does not allow {}", ruling.rule->origin, found.host);
    if (const std::optional<Internet> ipv4 = carried_ipv4(address))
        if (std::string refused = refusal_of(rules, there, *ipv4, is_own); !refused.empty())
            return refused;
    const Reach reach = reach_of(address);
    // An address of this machine is named by itself only: what listens on it may be meant for its
    // own network, or for nobody.
    const bool is_named = std::ranges::any_of(rules, [&](const HostRule& rule) {
        const bool allows = rule.prefix && rule_on({&rule, 1}, found).decision == Decision::allow;
        return allows && (reach == Reach::everybody ? !is_own || rule.prefix->bits == 128
                                                    : rule.prefix->is_within(reach));
    });
    if (is_named || (reach == Reach::everybody && !is_own)) return {};
    return fmt::format("{} is {}, and no rule names that address", found.host,
                       is_own && reach == Reach::everybody ? "an address of this machine"
                                                           : reach_text(reach));
}

} // namespace ew::core
