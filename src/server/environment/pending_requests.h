// The requests that a remote server has not answered yet, by their ids on that connection. Pure
// bookkeeping: the connection sends them and handles the answers.
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
        probe, // finds out whether the server answers at all
        terminate,
        forwarded, // from a client, which gets the answer
        unwatched, // the answer does not matter; not kept
    };

    Kind kind = Kind::unwatched;
    std::uint64_t process = 0;              // serial number; 0: not about a process
    std::optional<Reply> reply = {};        // of a forwarded request
    std::optional<TimePoint> deadline = {}; // nullopt: no limit for the answer
};

class PendingRequests {
public:
    // Returns the id for the request.
    std::uint64_t add(PendingRequest request);

    // Removes and returns the request with this id. Returns nullopt if there is no such request.
    std::optional<PendingRequest> take(std::uint64_t id);

    // Removes and returns the requests whose deadline has passed. A start also stays, without a
    // deadline: a late answer reports a program that must be ended.
    std::vector<PendingRequest> take_due(TimePoint now);

    // Moves all earlier deadlines to this time.
    void postpone(TimePoint earliest);

    // Answers the forwarded request of a client with "cancelled". Returns false if it does not wait
    // here.
    bool cancel(const json::Id& id);

    // Answers all forwarded requests with this error, and removes all requests.
    void fail_all(const Error& error);

    std::size_t size() const { return requests_.size(); }

    bool has_probe() const;
    std::optional<TimePoint> next_deadline() const;

private:
    std::map<std::uint64_t, PendingRequest> requests_;
    std::uint64_t last_id_ = 0;
};

} // namespace ew::server
