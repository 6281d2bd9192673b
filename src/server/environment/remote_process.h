// What a process in another environment is besides its entry in the table: how it was ordered, what
// has come of it out of order, and what the server there told of its confinement.
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "peer/ordered_events.h"
#include "protocol/sandbox.h"
#include "server/environment/remote_start.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

// What it is called there. A serial number is never used twice, and a server keeps ids for a while.
inline std::string id_there(std::uint64_t serial) {
    return fmt::format("{}", serial);
}

// It should have told its end by now: it was ended, or has closed its output.
struct MissingEnd {
    TimePoint due = {};
    bool is_doubtful = false; // the server did not want to end it
    bool is_asked = false;    // how it is
};

struct RemoteProcess {
    RemoteStart order = {};
    std::uint64_t connection = 0; // that its start was sent over; 0: it was not yet
    bool is_writing = false;      // input was sent and not accepted yet
    std::uint64_t writes = 0;     // so many were sent

    peer::OrderedEvents events = {};
    bool is_held_up = false;                 // the log has no room for what is there
    std::optional<TimePoint> gap_since = {}; // something is missing
    std::uint64_t lost_pieces = 0;           // that were not told yet
    bool is_gap_given_up = false;            // nobody tells what is missing before what is here
    bool is_reading = false;                 // it was asked for
    std::optional<MissingEnd> missing_end = {};
    std::optional<Error> loss = {}; // nothing more will come

    protocol::Confinement confinement = {};
    std::vector<protocol::Denial> denials = {};
    std::uint64_t denial_count = 0;
};

} // namespace ew::server
