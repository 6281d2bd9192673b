// What the audit says about a host that a command has reached: the detail of a row "network".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::store {

struct HostDetail {
    std::uint64_t connections = 0;
    std::uint64_t sent = 0; // bytes, by the command
    std::uint64_t received = 0;
    std::string program = {}; // which connected first; empty: unknown
};

template <class Visitor>
void fields(Visitor& visit, HostDetail& detail) {
    visit.required("connections", detail.connections);
    visit.required("bytesSent", detail.sent);
    visit.required("bytesReceived", detail.received);
    visit.required("program", detail.program);
}

// The detail is a JSON object.
std::string to_detail(const HostDetail& detail);

// Returns nullopt if the text is no such detail.
std::optional<HostDetail> host_detail_of(std::string_view detail);

// For people, such as "2 connections, 0 bytes sent, 40 received, by /usr/bin/curl". Returns a text
// that is no such detail as it is.
std::string text_of_host_detail(const std::string& detail);

} // namespace ew::store
