// Unbound sockets of a sandbox's network, made ahead by errands: a socket stays in the network in
// which it was made, and this process cannot enter that one (setns(2) needs rights there).
#pragma once

#include "base/clock.h"
#include "base/unique_fd.h"
#include "os/errand.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace ew::sandbox {

class SocketPool {
public:
    static constexpr std::size_t most = 48; // of each family
    static constexpr std::size_t few = 12;  // of one family: then more are made

    explicit SocketPool(UniqueFd network) : network_(std::move(network)) {}

    // Returns an empty descriptor if none is there now.
    UniqueFd take(int family);

    // Begins an errand if few are left and none is under way. Returns true if it has begun one,
    // whose descriptor the caller watches. After one that has failed it waits a moment.
    bool fill(TimePoint now);

    bool is_filling() const { return errand_.has_value(); }

    // The next two are for the time while is_filling().
    int fd() const { return errand_->fd(); }

    TimePoint deadline() const { return errand_->deadline(); }

    // Takes what the errand has made. Returns true if it is over, also if it is late.
    bool on_errand(TimePoint now);

private:
    void keep();

    UniqueFd network_;
    UniqueFd ours_; // of a pair: the errand sends the sockets through it
    std::vector<UniqueFd> ipv4_;
    std::vector<UniqueFd> ipv6_;
    std::optional<os::Errand> errand_;
    std::optional<TimePoint> paused_until_;
};

} // namespace ew::sandbox
