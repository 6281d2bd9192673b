#include "server/confine/placeholder_cleanup.h"

#include "base/log.h"

#include <memory>
#include <utility>

namespace ew::server {

namespace {

constexpr Millis clearing_time{10'000};

} // namespace

std::optional<os::Errand> begin_placeholder_cleanup(std::vector<sandbox::Placeholder> places,
                                                    const std::string& journal, TimePoint now) {
    if (places.empty()) return std::nullopt;
    // std::function wants a body that can be copied.
    const auto held = std::make_shared<std::vector<sandbox::Placeholder>>(std::move(places));
    std::vector<int> locks;
    locks.reserve(held->size());
    for (const sandbox::Placeholder& place : *held)
        if (place.lock) locks.push_back(place.lock.get());
    const auto body = [held, journal] {
        for (auto place = held->rbegin(); place != held->rend(); ++place) // inner ones first
            sandbox::release(std::move(*place), journal);
        return std::string("done");
    };
    Result<os::Errand> errand = os::Errand::begin(body, locks, now + clearing_time);
    if (errand) return std::move(*errand);
    log::warning("sandbox", "what held places stays until the next start: {}",
                 errand.error().message);
    return std::nullopt;
}

} // namespace ew::server
