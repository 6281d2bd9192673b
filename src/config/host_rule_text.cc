#include "config/host_rule_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <utility>

namespace ew::config {

namespace {

using core::Decision;
using core::HostRule;
using toml::TableReader;

constexpr std::int64_t highest_port = 65535;

Decision read_decision(TableReader& reader) {
    constexpr std::string_view name = "decision";
    if (!reader.value(name)) {
        reader.complain(name, "is missing; a rule says \"allow\", \"prompt\" or \"forbidden\"");
        return Decision::prompt;
    }
    const std::optional<std::string> word = reader.choice(name, {"allow", "prompt", "forbidden"});
    if (word == "allow") return Decision::allow;
    return word == "forbidden" ? Decision::forbidden : Decision::prompt;
}

// If the ports cannot be read, the rule is about every port.
std::vector<std::uint16_t> read_ports(TableReader& reader) {
    constexpr std::string_view name = "ports";
    std::vector<std::uint16_t> ports;
    const toml::Value* const value = reader.value(name);
    if (!value) return ports;
    const auto* const array = std::get_if<toml::Array>(&value->is);
    if (array)
        for (const toml::Value& item : array->items) {
            const auto* const number = std::get_if<std::int64_t>(&item.is);
            if (!number || *number < 1 || *number > highest_port) break;
            ports.push_back(static_cast<std::uint16_t>(*number));
        }
    if (array && !ports.empty() && ports.size() == array->items.size()) return ports;
    reader.complain(name, "expected a list of ports between 1 and 65535, such as [443]");
    return {};
}

// "HOST:PORT", with an IPv6 address in brackets.
std::optional<core::Destination> destination_of(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    core::Destination there;
    const std::string_view port = text.substr(colon + 1);
    const auto read = std::from_chars(port.data(), port.data() + port.size(), there.port);
    if (read.ec != std::errc() || read.ptr != port.data() + port.size()) return std::nullopt;
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    there.address = core::read_internet(host);
    if (there.address) {
        there.host = core::shown(*there.address);
        return there;
    }
    std::optional<std::string> name = core::host_name(host);
    if (!name) return std::nullopt;
    there.host = std::move(*name);
    return there;
}

void check_examples(TableReader& reader, std::string_view name, const HostRule& rule,
                    bool is_to_match) {
    for (const std::string& example : reader.strings(name).value_or(std::vector<std::string>())) {
        const std::optional<core::Destination> there = destination_of(example);
        if (!there)
            reader.complain(name, fmt::format("'{}' is not of the form HOST:PORT", example));
        else if (core::matches(rule, *there) != is_to_match)
            reader.complain(name, fmt::format("the rule {} '{}'",
                                              is_to_match ? "does not match" : "matches", example));
    }
}

} // namespace

std::optional<HostRule> read_host_rule(const toml::Table& table, const RuleSource& source,
                                       std::string origin, std::vector<toml::Problem>& problems) {
    TableReader reader(table, source.file, problems);
    const bool allows_every = reader.boolean("every_host").value_or(false);
    const Decision decision = read_decision(reader);
    const bool is_open = allows_every || decision != Decision::allow;
    const std::optional<std::string> host = reader.string("host");
    Result<HostRule> rule = core::host_rule(host.value_or(""), is_open);
    std::vector<std::uint16_t> ports = read_ports(reader);
    const bool has_ports = !ports.empty();
    HostRule read;
    if (rule) read = std::move(*rule);
    read.decision = decision;
    read.ports = std::move(ports);
    if (decision == Decision::allow && !has_ports) read.ports = {core::http_port, core::https_port};
    read.justification = reader.string("justification").value_or("");
    read.layer = source.layer;
    read.origin = std::move(origin);
    if (rule) {
        check_examples(reader, "match", read, true);
        check_examples(reader, "not_match", read, false);
    } else {
        reader.complain("host", fmt::format("{}; {}", rule.error().message, rule.error().hint));
        (void)reader.value("match"); // not told as unknown
        (void)reader.value("not_match");
    }
    reader.finish();
    if (!rule) return std::nullopt;
    return read;
}

} // namespace ew::config
