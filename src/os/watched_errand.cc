#include "os/watched_errand.h"

#include <utility>

namespace ew::os {

WatchedErrand::WatchedErrand(Errand errand, Poller& poller, Token token)
    : errand_(std::move(errand)), poller_(poller) {
    (void)poller.watch(errand_.fd(), token, Interest::read);
}

WatchedErrand::~WatchedErrand() {
    poller_.unwatch(errand_.fd());
}

std::optional<std::string> WatchedErrand::take_result(TimePoint now) {
    std::optional<std::string> result = errand_.take_result();
    if (!result && errand_.deadline() <= now) result = "it took too long";
    return result;
}

} // namespace ew::os
