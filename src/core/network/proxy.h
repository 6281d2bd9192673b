// The HTTP proxies of this machine: which of them leads to a destination, the request that is sent
// to it (CONNECT, RFC 9110, 9.3.6), and its answer.
#pragma once

#include "base/result.h"
#include "core/network/hosts.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::core {

struct Proxy {
    std::string host = {};                // a name, or an address as shown() writes it
    std::optional<Internet> address = {}; // if the host is an address
    std::uint16_t port = 0;
    std::string authorization = {}; // a secret: the value of Proxy-Authorization; empty: none
    std::string source = {};        // the variable or the setting that names the proxy
    // Why the proxy cannot be used; it has no host then. Empty if it can be used.
    std::string trouble = {};

    // For a person: "the proxy proxy.example.org:3128 (HTTPS_PROXY)". Has no secret.
    std::string text() const;

    // Why nothing goes through it, for a person.
    std::string unusable() const;
};

// Reads "http://[USER:PASSWORD@]HOST[:PORT]", also without "http://". The default port is 80.
// Errors: invalid_params; the message has nothing of the text but its scheme.
Result<Proxy> read_proxy(std::string_view url);

// The text with *** in the place of USER:PASSWORD.
std::string without_password(std::string_view url);

struct Proxies {
    std::optional<Proxy> for_http = {};   // port 80
    std::optional<Proxy> for_others = {}; // every other port
    std::string exceptions = {};          // NO_PROXY

    // Returns null if nothing but a direct connection leads there, as to localhost. The names and
    // addresses of `exceptions` are compared as curl does.
    const Proxy* way_to(const Destination& there) const;

    // The proxies on that port that can be used.
    std::vector<const Proxy*> on_port(std::uint16_t port) const;

    // Proxy::unusable() of those that cannot be used.
    std::vector<std::string> troubles() const;
};

using VariableView = std::span<const std::pair<std::string, std::string>>;

// `setting`: empty, "off", or a proxy as read_proxy() takes it, which counts for every port.
// Without it the variables decide as they do for curl: http_proxy and HTTP_PROXY for port 80,
// https_proxy and HTTPS_PROXY for the other ports, else all_proxy and ALL_PROXY; and no_proxy and
// NO_PROXY in any case.
Proxies proxies_of(std::string_view setting, VariableView environment);

// Does a variable of that name tell programs about a proxy? Ignores case: HTTPS_PROXY, no_proxy,
// npm_config_https_proxy.
bool is_proxy_variable(std::string_view name);

std::string connect_request(const Proxy& proxy, const Destination& there);

// The beginning of what a proxy sends: the header of its answer.
struct ProxyAnswer {
    enum class State : std::uint8_t {
        incomplete, // more bytes are needed
        broken,     // no answer of HTTP, or longer than longest_proxy_answer
        whole,
    };

    State state = State::incomplete;
    int status = 0;       // 200 to 299: the connection is made
    std::size_t size = 0; // bytes of the header; what follows is of the other side
};

constexpr std::size_t longest_proxy_answer = 16 << 10; // bytes of the header

ProxyAnswer read_proxy_answer(std::string_view text);

} // namespace ew::core
