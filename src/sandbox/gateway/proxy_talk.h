// The beginning of a connection through a proxy of the machine: the request, and the proxy's
// answer. Never waits.
#pragma once

#include "base/clock.h"
#include "core/network/proxy.h"

#include <cstdint>
#include <span>
#include <string>

namespace ew::sandbox {

class ProxyTalk {
public:
    // How long the connection to the proxy and its answer may take together.
    static constexpr Millis longest{30'000};

    ProxyTalk(const core::Proxy& proxy, const core::Destination& there, TimePoint now)
        : name_(proxy.text()),
          port_(proxy.port),
          request_(core::connect_request(proxy, there)),
          deadline_(now + longest) {}

    std::uint16_t port() const { return port_; } // of the proxy

    TimePoint deadline() const { return deadline_; }

    bool has_to_write() const { return !request_.empty(); }

    enum class State : std::uint8_t {
        goes_on,
        open,    // what comes now is of the other side; see take_rest()
        refused, // see refusal()
    };

    // Sends and reads what the connected socket takes and has now. `block`: room for reading.
    State go_on(int socket, std::span<char> block);

    // What came right behind the answer.
    std::string take_rest() { return std::move(answer_); }

    const std::string& refusal() const { return refusal_; }

    // Why nothing came of it, as a text for a person.
    std::string unreachable() const { return name_ + " cannot be reached"; }

    std::string too_late() const { return name_ + " did not answer in time"; }

private:
    bool send_request(int socket);
    State read_answer(int socket, std::span<char> block);
    State refuse(std::string_view why);

    std::string name_; // of the proxy
    std::uint16_t port_;
    std::string request_; // bytes that have not been sent yet
    std::string answer_;
    TimePoint deadline_;
    std::string refusal_;
};

} // namespace ew::sandbox
