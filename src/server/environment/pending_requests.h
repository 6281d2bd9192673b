// The requests that the server of an environment has not answered yet, by their ids there. Pure
// bookkeeping: the connection sends them and decides what follows from an answer.
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "json/types.h"
#include "server/connection/reply.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ew::server {

struct PendingRequest {
    enum class Kind : std::uint8_t {
        initialize,
        start,
        read,
        write,
        probe, // whether the server answers at all
        terminate,
        forwarded, // for a client, which gets the answer
        unwatched, // no answer matters; it is not kept
    };

    Kind kind = Kind::unwatched;
    std::uint64_t process = 0;              // serial; 0: it is about no process
    std::optional<Reply> reply = {};        // of a forwarded one
    std::optional<TimePoint> deadline = {}; // absent: the answer may take any time
};

class PendingRequests {
public:
    // Returns the id to send the request under.
    std::uint64_t add(PendingRequest request);

    // Takes out the request with this id. Returns nullopt if there is none.
    std::optional<PendingRequest> take(std::uint64_t id);

    // Takes out the requests whose deadline is over. A start stays as well, without a deadline: a
    // late answer tells of a program that must be ended.
    std::vector<PendingRequest> take_due(TimePoint now);

    // No deadline is earlier than this.
    void postpone(TimePoint earliest);

    // Answers the forwarded request of a client with "cancelled". Returns false if it is not here.
    bool cancel(const json::Id& id);

    // Answers all forwarded requests with this error, and forgets everything.
    void fail_all(const Error& error);

    std::size_t size() const { return requests_.size(); }

    bool has_probe() const;
    std::optional<TimePoint> next_deadline() const;

private:
    std::map<std::uint64_t, PendingRequest> requests_;
    std::uint64_t last_id_ = 0;
};

} // namespace ew::server
