#include "sandbox/run/placeholder_cleanup.h"

#include <memory>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr Millis longest_cleanup{10'000};

} // namespace

Result<os::Errand> begin_placeholder_cleanup(std::vector<Placeholder> placeholders,
                                             const std::string& journal, TimePoint now) {
    // std::function needs a body that can be copied.
    const auto held = std::make_shared<std::vector<Placeholder>>(std::move(placeholders));
    std::vector<int> locks;
    locks.reserve(held->size());
    for (const Placeholder& placeholder : *held)
        if (placeholder.lock) locks.push_back(placeholder.lock.get());
    const auto body = [held, journal] {
        release_all(std::move(*held), journal);
        return std::string("done");
    };
    return os::Errand::begin(body, locks, now + longest_cleanup);
}

} // namespace ew::sandbox
