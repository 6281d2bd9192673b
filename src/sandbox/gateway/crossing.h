// One connection of a confined program to a host: a socket inside, which the gateway has accepted,
// and one outside. Moves bytes both ways; a side that does not read stops the other one.
#pragma once

#include "base/clock.h"
#include "base/unique_fd.h"
#include "core/network/hosts.h"
#include "sandbox/gateway/flow.h"
#include "sandbox/gateway/proxy_talk.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ew::sandbox {

class Crossing {
public:
    // How long one address may take to accept.
    static constexpr Millis longest_connect{15'000};
    // How long the other side may be silent after the program has ended its own side.
    static constexpr Millis longest_silence{120'000};
    static constexpr int most_blocks = 8; // each way, in one turn of the loop

    enum class State : std::uint8_t {
        waiting, // for the addresses of its host
        connecting,
        asking, // a proxy, which is connected
        open,
        closed, // to be removed
    };

    Crossing(UniqueFd inside, core::Destination there);

    State state() const { return state_; }

    const core::Destination& there() const { return there_; }

    // Why it was ended by us, as a text for a person; empty: it was not.
    const std::string& refusal() const { return refusal_; }

    int inside() const { return inside_.get(); }

    int outside() const { return outside_.get(); } // -1 unless connecting, asking or open

    // Grows with each socket outside: a new one may have the number of the one before.
    std::size_t attempt() const { return next_address_; }

    // What to wait for (EPOLLIN | EPOLLOUT), 0: nothing. For the two descriptors.
    std::uint32_t wanted_inside() const;
    std::uint32_t wanted_outside() const;

    // Was the connection to the host made?
    bool has_reached() const { return has_reached_; }

    // Bytes that the program has sent, and received.
    std::uint64_t sent() const { return up_.count(); }

    std::uint64_t received() const { return down_.count(); }

    // Tries these addresses one after the other.
    void connect(std::vector<core::Internet> addresses, TimePoint now);

    // The same for the addresses of a proxy, which is asked for a connection to there().
    void connect_through(const core::Proxy& proxy, std::vector<core::Internet> addresses,
                         TimePoint now);

    enum class Side : std::uint8_t { inside, outside };

    // That side's descriptor is ready.
    void on_ready(Side side, Carrier& carrier, TimePoint now);

    void on_time(TimePoint now);

    std::optional<TimePoint> deadline() const { return deadline_; }

    // Both sides see a reset.
    void abort(std::string refusal);

    // The program has ended: passes on what it had sent, as far as that goes without waiting, and
    // not beyond this time.
    void finish(Carrier& carrier, TimePoint until);

private:
    void try_next(TimePoint now);
    void on_connected(TimePoint now);
    void begin();
    void open();
    void ask_proxy(std::span<char> block);
    bool move(Flow& flow, int source, int target, Carrier& carrier);
    Flow::Moved take(Flow& flow, int source, int target, Carrier& carrier);
    Flow::Moved greet(std::span<char> block);
    void check_greeting(bool has_ended);
    void close();

    UniqueFd inside_;
    UniqueFd outside_;
    core::Destination there_;
    State state_ = State::waiting;
    bool has_reached_ = false;
    std::string refusal_;
    std::vector<core::Internet> addresses_;
    std::size_t next_address_ = 0;
    std::optional<ProxyTalk> talk_; // until the proxy has answered; nullopt: there is no proxy
    std::optional<TimePoint> deadline_;
    Flow up_;
    Flow down_;
    // What the program has sent first, while it may be the beginning of TLS. Nullopt: it was
    // looked at.
    std::optional<std::string> greeting_;
};

} // namespace ew::sandbox
