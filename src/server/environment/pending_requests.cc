#include "server/environment/pending_requests.h"

#include <algorithm>
#include <utility>

namespace ew::server {

using Kind = PendingRequest::Kind;

std::uint64_t PendingRequests::add(PendingRequest request) {
    const std::uint64_t id = ++last_id_;
    if (request.kind != Kind::unwatched) requests_.emplace(id, std::move(request));
    return id;
}

std::optional<PendingRequest> PendingRequests::take(std::uint64_t id) {
    const auto at = requests_.find(id);
    if (at == requests_.end()) return std::nullopt;
    std::optional<PendingRequest> request = std::move(at->second);
    requests_.erase(at);
    return request;
}

std::vector<PendingRequest> PendingRequests::take_due(TimePoint now) {
    std::vector<PendingRequest> due;
    for (auto at = requests_.begin(); at != requests_.end();) {
        const auto here = at++;
        PendingRequest& request = here->second;
        if (!is_due(request.deadline, now)) continue;
        request.deadline.reset();
        if (request.kind == Kind::start) {
            due.push_back({Kind::start, request.process});
            continue;
        }
        due.push_back(std::move(request));
        requests_.erase(here);
    }
    return due;
}

void PendingRequests::postpone(TimePoint earliest) {
    for (auto& [id, request] : requests_)
        if (request.deadline) request.deadline = std::max(*request.deadline, earliest);
}

bool PendingRequests::cancel(const json::Id& id) {
    const auto at = std::ranges::find_if(requests_, [&](const auto& entry) {
        return entry.second.reply && entry.second.reply->id() == id;
    });
    if (at == requests_.end()) return false;
    at->second.reply->fail({ErrorKind::cancelled, "the request was cancelled by the client"});
    requests_.erase(at);
    return true;
}

void PendingRequests::fail_all(const Error& error) {
    for (auto& [id, request] : std::exchange(requests_, {}))
        if (request.reply) request.reply->fail(error);
}

bool PendingRequests::has_probe() const {
    return std::ranges::any_of(requests_,
                               [](const auto& entry) { return entry.second.kind == Kind::probe; });
}

std::optional<TimePoint> PendingRequests::next_deadline() const {
    std::optional<TimePoint> next;
    for (const auto& [id, request] : requests_)
        next = earlier(next, request.deadline);
    return next;
}

} // namespace ew::server
