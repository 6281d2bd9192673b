// Names of hosts looked up on the machine, each by an errand, since getaddrinfo(3) may hang. What
// was found is kept for a moment, so that the connections of one download share a look-up.
#pragma once

#include "base/clock.h"
#include "core/network/internet.h"
#include "os/errand.h"
#include "sandbox/gateway/look_up_room.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

struct FoundAddress {
    core::Internet address = {};
    bool is_own = false; // an address of this machine
};

struct FoundHost {
    std::vector<FoundAddress> addresses = {}; // in the order in which they should be tried
    std::string trouble = {};                 // why there are none
};

// The errand's half: waits for the machine's resolver. `host` may be an address.
std::string look_up_here(const std::string& host);

FoundHost decode_found(std::string_view text);

class LookUps {
public:
    static constexpr std::size_t most = 16;        // at once
    static constexpr std::size_t most_kept = 1024; // hosts
    static constexpr Millis patience{20'000};      // for one look-up
    static constexpr Millis kept_for{10'000};
    // After it a look-up is tried again that had no place among those of other sandboxes.
    static constexpr Millis pause{50};

    // `room` is borrowed; null: nobody else has look-ups.
    explicit LookUps(LookUpRoom* room) : room_(room) {}

    struct Begun {
        std::uint64_t serial = 0;
        int fd = -1; // readable when on_ready() has something to do
    };

    // Returns null if the host is not known now.
    const FoundHost* find(const std::string& host, TimePoint now);

    bool is_under_way(const std::string& host) const;

    // Returns nullopt if too many are under way, or after an error: a later call tries again. If
    // next_deadline() returns nullopt then, there will be nothing to wait for.
    std::optional<Begun> begin(const std::string& host, TimePoint now);

    // Returns the host whose look-up is over; nullopt: it goes on.
    std::optional<std::string> on_ready(std::uint64_t serial, TimePoint now);

    // Ends look-ups that took too long. Returns true if those who wait should look again.
    bool on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

private:
    struct Running {
        std::string host;
        os::Errand errand;
        LookUpRoom::Place place;
    };

    struct Kept {
        FoundHost found;
        TimePoint until;
    };

    void keep(const std::string& host, FoundHost found, TimePoint now);

    LookUpRoom* room_;
    std::optional<TimePoint> try_again_;
    std::map<std::uint64_t, Running> running_;
    std::map<std::string, Kept> kept_;
    std::uint64_t next_serial_ = 1;
};

} // namespace ew::sandbox
