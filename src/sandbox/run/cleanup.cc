#include "sandbox/run/cleanup.h"

#include <memory>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr Millis longest_cleanup{30'000}; // a busy disk may keep it waiting

} // namespace

std::vector<SetAside> clean_up(Leftovers leftovers, const std::string& journal) {
    std::vector<SetAside> moved;
    if (leftovers.look) moved = look_again(std::move(*leftovers.look));
    release_all(std::move(leftovers.placeholders), journal);
    return moved;
}

Result<os::Errand> begin_cleanup(Leftovers leftovers, const std::string& journal, TimePoint now) {
    std::vector<int> locks;
    locks.reserve(leftovers.placeholders.size() + 1);
    for (const Placeholder& placeholder : leftovers.placeholders)
        if (placeholder.lock) locks.push_back(placeholder.lock.get());
    if (leftovers.look) locks.push_back(leftovers.look->lock.get());
    // std::function needs a body that can be copied.
    const auto held = std::make_shared<Leftovers>(std::move(leftovers));
    const auto body = [held, journal] {
        return encode_set_aside(clean_up(std::move(*held), journal), os::Errand::longest_result);
    };
    return os::Errand::begin(body, locks, now + longest_cleanup);
}

} // namespace ew::sandbox
