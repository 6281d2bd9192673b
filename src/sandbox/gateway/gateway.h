// The only way out of a sandbox whose policy is Network::hosts. Lives in the loop and never waits.
//
// The sandbox has a network of its own that leads nowhere (launch/host_network.h). When a program
// connects, the supervisor asks open(), and where a rule allows it, the gateway listens at exactly
// that address and port inside. It accepts the connection, looks the name up outside, connects
// there, and moves the bytes. Where somebody must be asked first, it listens too, and the kernel
// drops what arrives, so that the connect waits as for a host far away: event loops go on, and time
// limits count. Whatever a program does without being asked finds nobody, or the
// program's own listeners. No descriptor of the machine's network ever goes inside.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "core/network/hosts.h"
#include "core/network/name_table.h"
#include "sandbox/gateway/crossing.h"
#include "sandbox/gateway/gateway_events.h"
#include "sandbox/gateway/host_asking.h"
#include "sandbox/gateway/host_use.h"
#include "sandbox/gateway/listeners.h"
#include "sandbox/gateway/listening.h"
#include "sandbox/gateway/look_up.h"
#include "sandbox/gateway/resolver.h"
#include "sandbox/gateway/way_out.h"
#include "sandbox/launch/host_network.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::sandbox {

// What was not let through, and why.
struct HostRefusal {
    core::Destination there = {};
    std::string reason = {};
    std::string justification = {}; // of the rule that forbids it
    bool can_be_allowed = false;    // by a rule about this destination
    Asker asker = {};
};

class Gateway {
public:
    static constexpr std::size_t most_crossings = 256; // a further connection is reset
    static constexpr std::size_t most_refusals = 64;   // until take_refusals()
    static constexpr Millis longest_turn{5};
    // What commands have sent is passed on for so long after their end.
    static constexpr Millis longest_finish{100};

    static constexpr std::size_t most_questions = 8; // open at once
    static constexpr std::size_t most_asked = 64;    // questions of one command

    // `way`: null if nobody else has a gateway, and no proxies count. `asking` outlives the
    // gateway; null: nobody is asked. Errors: no more descriptors.
    static Result<std::unique_ptr<Gateway>> start(HostNetwork network,
                                                  std::vector<core::HostRule> rules, WayOut* way,
                                                  TimePoint now, HostAsking* asking = nullptr);
    ~Gateway() = default;
    Gateway(const Gateway&) = delete;
    Gateway& operator=(const Gateway&) = delete;

    // Readable (it is an epoll descriptor) when on_ready() has something to do.
    int fd() const { return events_.fd(); }

    void on_ready(TimePoint now);
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    // The command has ended: passes on what its programs had sent, as far as that goes without
    // waiting. Returns the hosts that were reached.
    std::vector<HostUse> finish();

    enum class Way : std::uint8_t {
        open,    // connect now, to the port that comes with it
        nowhere, // no name has that address: the kernel finds nobody there
        refused, // see the refusal
        later,   // ask again when has_news() returns true
        full,    // no more descriptors, or too many destinations
    };

    struct Answer {
        Way way = Way::refused;
        std::uint16_t port = 0; // differs from the wanted one if a program listens on that itself
        HostRefusal refusal = {};
        std::uint64_t question = 0; // until its answer the connect will wait
    };

    Answer open(const core::Internet& address, std::uint16_t port, const Asker& asker,
                TimePoint now);

    // Would a connect to there need an answer of somebody, if there is somebody?
    bool may_ask(const core::Internet& address, std::uint16_t port) const;

    // A program has connected to the listener of that place: takes the connection at once.
    void take_connection(const Place& place, TimePoint now);

    // See network_of(), of the network inside.
    std::uint64_t network() const;

    // A connect for that question is under way, and comes from there.
    void note_caller(std::uint64_t question, const Place& caller);

    // The answer to a question. Nothing happens if the question is not open.
    void answer(std::uint64_t question, const HostVerdict& verdict, TimePoint now);

    // Returns true once after something has happened for which callers were told to wait.
    bool has_news() { return std::exchange(has_news_, false); }

    std::vector<HostRefusal> take_refusals() { return std::exchange(refusals_, {}); }

private:
    struct Held {
        Crossing crossing;
        Passage passage;
        std::uint32_t inside = 0; // what is watched
        std::uint32_t outside = 0;
        std::size_t attempt = 0; // see Crossing::attempt()
    };

    using Crossings = std::map<std::uint64_t, Held>;

    Gateway(HostNetwork network, std::vector<core::HostRule> rules, WayOut* way,
            HostAsking* asking);

    core::Destination destination_of(const core::Internet& address, std::uint16_t port) const;
    Answer listen(const Place& place, Passage passage, std::uint64_t question, TimePoint now);
    Answer ask(const Place& place, HostQuestion question, TimePoint now);
    void accept_at(std::uint64_t serial, TimePoint now);
    void take_in(Listeners::Arrival arrival, TimePoint now);

    std::string refusal_by_proxies(const core::Destination& there) const;
    void seek(Held& held, TimePoint now);
    const FoundHost* look_up(Held& held, const std::string& host, TimePoint now);
    void seek_all(TimePoint now);
    void on_look_up(std::uint64_t serial, TimePoint now);
    void on_crossing(std::uint64_t serial, Crossing::Side side, TimePoint now);
    void settle(Crossings::iterator at);
    void note(HostRefusal refusal);
    void note_use(const Held& held);

    std::vector<core::HostRule> rules_;
    core::Proxies proxies_;
    HostAsking* asking_;
    std::size_t asked_ = 0;
    GatewayEvents events_;
    core::NameTable names_;
    Resolver resolver_;
    Listeners listeners_;
    LookUps look_ups_;
    Crossings crossings_;
    std::vector<HostRefusal> refusals_;
    HostUses uses_;                // of crossings that have ended
    const int end_of_descriptors_; // no connection gets one from this number on
    Carrier carrier_;
    std::uint64_t next_serial_ = 1;
    bool has_news_ = false;
};

} // namespace ew::sandbox
