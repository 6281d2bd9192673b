// Requests that wait for something: lists of structs with a member `reply`.
#pragma once

#include "server/connection/reply.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ew::server {

// Removes and returns the request with this id. Returns nullopt if no such request waits.
template <class Waiting>
std::optional<typename Waiting::value_type> take_request(Waiting& waiting, const json::Id& id) {
    const auto at = std::find_if(waiting.begin(), waiting.end(),
                                 [&](const auto& entry) { return entry.reply.id() == id; });
    if (at == waiting.end()) return std::nullopt;
    std::optional<typename Waiting::value_type> taken(std::move(*at));
    waiting.erase(at);
    return taken;
}

inline void fail_cancelled(Reply& reply) {
    reply.fail({ErrorKind::cancelled, "the request was cancelled by the client"});
}

// Answers that the client has cancelled the request. Returns false if it does not wait.
template <class Waiting>
bool cancel_request(Waiting& waiting, const json::Id& id) {
    auto taken = take_request(waiting, id);
    if (!taken) return false;
    fail_cancelled(taken->reply);
    return true;
}

} // namespace ew::server
